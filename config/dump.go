package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// MaxDumpBytes is the largest input that ReadDump takes. Real dumps have
// 4 to 20 kB.
const MaxDumpBytes = 8 << 20

// The names under which containerd keeps the handlers of its CRI plugin.
const (
	pluginCRI        = "io.containerd.grpc.v1.cri"    // 1.x; in 2.x only the server half
	pluginCRIRuntime = "io.containerd.cri.v1.runtime" // since 2.0
	pluginCRIImages  = "io.containerd.cri.v1.images"  // since 2.0
	pluginCRIShort   = "cri"                          // in files of version 1
)

// A DumpState says whether the configuration of a dump runs the CRI plugin at
// all. Without it a node serves no handler, whatever the tables hold.
type DumpState int

const (
	// CRIOn: the dump has a section of the CRI plugin and does not disable it.
	CRIOn DumpState = iota
	// CRIDisabled: disabled_plugins holds the CRI plugin.
	CRIDisabled
	// CRIAbsent: the text has no section of the CRI plugin. A dump always
	// prints the sections of the plugins that would start.
	CRIAbsent
)

// String returns the name of the state.
func (s DumpState) String() string {
	return [...]string{"CRIOn", "CRIDisabled", "CRIAbsent"}[s]
}

// A Dump is what "containerd config dump" says: what the next start of
// containerd would load, not what the running one has loaded.
type Dump struct {
	// CRI holds the tables of handlers as the dump prints them. When State is
	// not CRIOn they are not served.
	CRI

	// Name is the name of the input, as it stands in messages.
	Name string
	// Version is the config version that the input states, 0 if none.
	Version int
	// State says whether the CRI plugin would run, Reason why not.
	State  DumpState
	Reason string
	// IsDump is false when the input has not the form of a dump: a config
	// file says what one file defines, without its imports and containerd's
	// defaults. FormReason says what gave it away.
	IsDump     bool
	FormReason string
	// Extra are handlers that the daemon adds at its start and the table of
	// handlers does not show: containerd 1.x makes "default" and "untrusted" of
	// default_runtime and untrusted_workload_runtime.
	Extra []Handler
	// Incomplete says why a handler that is not in the dump may be loaded all
	// the same. Empty: what the dump lacks, the configuration lacks.
	Incomplete string
	// MaybeUnmigrated is true for a dump in the form of containerd 2.0.0 to
	// 2.0.6. Up to 2.0.5 "config dump" leaves out what a version 2 file defines
	// under the old plugin name, though the daemon loads it
	// (containerd#11600). A caller that knows better may clear it.
	MaybeUnmigrated bool
	// Notes are one-line remarks for people, each naming its place.
	Notes []string

	doubts map[string]string // handler: why it may not be loaded
}

// A Presence is an answer about one handler.
type Presence int

const (
	// Unknown: the source proves neither.
	Unknown Presence = iota
	// Present: the source has the handler.
	Present
	// Absent: the source proves that the handler is not there.
	Absent
)

// String returns the name of the answer.
func (p Presence) String() string {
	return [...]string{"Unknown", "Present", "Absent"}[p]
}

// Look says whether the configuration has the handler of that name, and, when
// that cannot be told, why.
func (d *Dump) Look(name string) (Presence, string) {
	if d.State != CRIOn {
		return Unknown, d.Reason
	}
	if why, ok := d.doubts[name]; ok {
		return Unknown, why
	}
	if _, ok := d.Handler(name); ok {
		return Present, ""
	}
	for _, h := range d.Extra {
		if h.Name == name {
			return Present, ""
		}
	}
	if d.Incomplete != "" {
		return Unknown, d.Incomplete
	}
	if d.MaybeUnmigrated {
		return Unknown, d.Name + " has the form of containerd 2.0.0 to 2.0.6, whose dump (up to 2.0.5) leaves out the handlers" +
			" of a version 2 file although the daemon loads them; dump again with containerd 2.0.6 or later"
	}
	return Absent, ""
}

// ReadDump reads the output of "containerd config dump" of any config version.
// Name is the input's name in messages, usually its path. What is not a dump
// but a config file is read too, see Dump.IsDump. The error is one line and
// starts with the name and, for all but unreadable input, line and column.
func ReadDump(r io.Reader, name string) (*Dump, error) {
	data, err := readText(r, name, dumpText)
	if err != nil {
		return nil, err
	}
	root, err := parseDumpTOML(name, data)
	if err != nil {
		return nil, err
	}
	if len(root.fields) == 0 {
		return nil, fmt.Errorf("%s: holds no key, so it is not a containerd configuration", name)
	}
	return newDump(name, root)
}

// A textKind names a kind of input in the errors of readText.
type textKind struct {
	format   string // "TOML"
	what     string // what the text should be
	expected string // where one gets it
}

var dumpText = textKind{"TOML", "a containerd configuration", `the output of "containerd config dump"`}

// readText reads at most MaxDumpBytes and refuses what is not text.
func readText(r io.Reader, name string, kind textKind) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxDumpBytes+1))
	if err != nil {
		// The name is said once: os's errors carry it too.
		return nil, fmt.Errorf("%s: cannot be read: %w", name, bareError(err))
	}
	if len(data) > MaxDumpBytes {
		return nil, fmt.Errorf("%s: larger than %d MiB, so it is not %s", name, MaxDumpBytes>>20, kind.what)
	}
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return nil, fmt.Errorf("%s:1:1: UTF-16 text; convert it to UTF-8", name)
	}
	// A byte order mark comes from an editor or a shell's redirection.
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, fmt.Errorf("%s: empty; expected %s", name, kind.expected)
	}
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return nil, posError(name, textPosition(data, i), "NUL byte: a binary file, not %s", kind.format)
	}
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return nil, posError(name, textPosition(data, i), "byte %#02x is not UTF-8: a binary file, not %s?", data[i], kind.format)
		}
		i += size
	}
	return data, nil
}

func textPosition(data []byte, offset int) dumpPos {
	before := data[:offset]
	return dumpPos{
		line:   bytes.Count(before, []byte("\n")) + 1,
		column: offset - bytes.LastIndexByte(before, '\n'),
	}
}

// bareError is the innermost cause: "is a directory", not "read x: is a
// directory".
func bareError(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
