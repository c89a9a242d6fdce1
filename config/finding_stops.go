package config

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// stoppedAt is the place that keeps the daemon from starting, and what stands there if
// the daemon's own words don't say.
func (f *finder) stoppedAt() (at Place, about string) {
	for _, file := range f.files {
		if file.Error == "" {
			continue
		}
		// What cannot be opened is mended where it is imported.
		if by, ok := f.importOf(file); ok && file.doc == nil {
			return by, ""
		}
		return Place{File: file.Path, Line: errorLine(file.Error)}, file.saved
	}
	var wrong *toml.DecodeError
	switch {
	case f.rt.Name != Containerd:
	case errors.As(f.stops, &wrong) && len(wrong.Key()) > 0:
		return f.find(wrong.Key()...), aboutKey(wrong.Key())
	case errors.As(f.stops, &wrong):
	case strings.Contains(f.r.Daemon.Reason, "config version"):
		for _, file := range slices.Backward(f.files) {
			if m, ok := file.doc.find("version"); ok && file.Version > f.rt.configVersion() {
				return Place{File: file.Path, Line: m.at.line}, ""
			}
		}
	case strings.Contains(f.r.Daemon.Reason, "disabled plugin URI"):
		return f.find("disabled_plugins"), ""
	case strings.Contains(f.r.Daemon.Reason, "required plugin"):
		return f.find("required_plugins"), ""
	case f.rt.class() == classA && position1.MatchString(f.r.Daemon.Reason):
		return f.stoppedAt1()
	}
	return f.main(), ""
}

// importOf is the place at which another file imports one.
func (f *finder) importOf(file *File) (Place, bool) {
	for _, by := range f.files {
		for _, imp := range by.Imports {
			if by.Path == file.ImportedBy && imp.Line > 0 && slices.Contains(imp.Matched, file.Path) {
				return Place{File: by.Path, Line: imp.Line}, true
			}
		}
	}
	return Place{}, false
}

// savedAs says how an editor or a shell has saved a file, of which the words of the
// libraries show the first byte at most.
func savedAs(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		return "; it begins with a byte order mark: save it as UTF-8 without one"
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		return "; it is UTF-16: save it as UTF-8"
	}
	return ""
}

// position1 is how go-toml 1 tells where a value is that does not fit.
var position1 = regexp.MustCompile(`^\(\d+, \d+\): `)

// stoppedAt1 is the place of a value of the CRI plugin's section, which in 1.x is that
// of one file.
func (f *finder) stoppedAt1() (at Place, about string) {
	plugin, _ := criSection1(f.files)
	line := errorLine(f.r.Daemon.Reason)
	for _, file := range slices.Backward(f.files) {
		if _, ok := file.doc.below("plugins", plugin); !ok {
			continue
		}
		for _, m := range file.doc.marks {
			if m.at.line == line && len(m.path) > 2 {
				about = aboutKey(m.path[2:])
			}
		}
		return Place{File: file.Path, Line: line}, about
	}
	return f.main(), ""
}

// aboutKey says what a key below the CRI plugin's section is.
func aboutKey(key []string) string {
	if len(key) > 3 && key[0] == "containerd" && key[1] == "runtimes" {
		return fmt.Sprintf("; it is %s of handler %q", tableText(key[3:]), key[2])
	}
	return "; it is " + tableText(key)
}

// reasonOfHandler is how a reason begins that is about a key of a handler.
var reasonOfHandler = regexp.MustCompile(`^handler "([^"]+)": (\w+)`)

// ofHandler is the place of the key of a handler that a reason is about.
func (f *finder) ofHandler(reason string) Place {
	m := reasonOfHandler.FindStringSubmatch(reason)
	if m == nil {
		return f.main()
	}
	return f.find("runtimes", m[1], m[2])
}
