package config

import (
	"errors"
	"reflect"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/runtimegate/runtimegate/config/schema"
)

// file2 is a file, or the merge of files, as containerd 2.x has it.
type file2 = schema.File[any]

// defaults2 is what containerd 2.x starts from.
func defaults2(rt Runtime) *file2 {
	return &file2{
		Version:         rt.configVersion(),
		Root:            "/var/lib/containerd",
		State:           "/run/containerd",
		GRPC:            schema.GRPC{Address: "/run/containerd/containerd.sock"},
		DisabledPlugins: []string{},
		RequiredPlugins: []string{},
	}
}

// decode2 decodes a file as containerd 2.x does. Unknown keys, which it warns
// of, are nothing to it.
func decode2(rt Runtime, data []byte) (f *file2, err error) {
	defer catch(&err)
	if rt.hasOldTOML() {
		return decodeOld(rt, data)
	}
	return decodeText(rt, data, data)
}

// decodeText decodes text, which stands for data.
func decodeText(rt Runtime, data, text []byte) (*file2, error) {
	f := &file2{}
	err := toml.Unmarshal(text, f)
	if err == nil {
		err = checkTopKeys(rt, data, func(v any) error { return toml.Unmarshal(text, v) })
	}
	return f, wrap2(crashOnDate(rt, err))
}

// decodeOld decodes as the older library does: what that refuses is found
// first, and what the newer one refuses is written anew for it.
func decodeOld(rt Runtime, data []byte) (*file2, error) {
	t := reflect.TypeFor[file2]()
	root, err := readOld(data, t)
	if err != nil {
		return nil, wrap2(err)
	}
	f, err := decodeText(rt, data, data)
	if err == nil || root == nil {
		return f, err
	}
	text, err := root.text(t)
	if err != nil {
		return nil, wrap2(err)
	}
	return decodeText(rt, data, text)
}

func wrap2(err error) error {
	var failure *loadFailure
	if err == nil || errors.As(err, &failure) || refused(err) {
		return err
	}
	var derr *toml.DecodeError
	if errors.As(err, &derr) {
		row, column := derr.Position()
		return fail("failed to unmarshal TOML at row %d column %d: %w", row, column, err)
	}
	return fail("failed to unmarshal TOML: %w", err)
}

// load2 loads the files as containerd 2.x does, up to and without the
// migration that 2.0 to 2.2 do after the merge.
func (l *loader) load2() (*file2, error) {
	out := defaults2(l.rt)
	newest := l.rt.configVersion()
	root := 0
	err := l.queue(func(f *File, data []byte) ([]string, error) {
		file, err := decode2(l.rt, data)
		if err != nil {
			return nil, err
		}
		f.Version = file.Version
		if l.rt.class() == classC {
			if root == 0 {
				root = file.Version
			}
			if file.Version > root {
				return nil, fail("drop-in config version %d higher than root config version %d", file.Version, root)
			}
		}
		imports := file.Imports
		if l.rt.class() == classB {
			if file.Version == 0 || file.Version == 1 {
				err = migrateTo(file, out.Version, newest, f.doc.plugins())
			}
		} else {
			err = migrateFile(l.rt, file, out.Version, f.doc.plugins())
		}
		if err != nil {
			return nil, crash(err)
		}
		f.effective = handlersOf(file.Plugins)
		mergeTop(out, file, appendNew)
		if out.Plugins == nil {
			out.Plugins = map[string]any{}
		}
		deepMerge(out.Plugins, file.Plugins)
		return imports, nil
	})
	if err != nil {
		return out, err
	}
	return out, validate2(l.lastPath(), out, newest)
}

// lastPath is the file that containerd names when the whole is invalid.
func (l *loader) lastPath() string { return l.files[len(l.files)-1].Path }

func validate2(last string, out *file2, newest int) error {
	if out.Version > newest {
		return fail("failed to load TOML from %s: expected containerd config version equal to or less than `%d`, got `%d`", last, newest, out.Version)
	}
	for _, p := range out.DisabledPlugins {
		if !strings.Contains(p, ".") {
			return fail("failed to load TOML from %s: invalid disabled plugin URI %q expect io.containerd.x.vx", last, p)
		}
	}
	for _, p := range out.RequiredPlugins {
		if !strings.Contains(p, ".") {
			return fail("failed to load TOML from %s: invalid required plugin URI %q expect io.containerd.x.vx", last, p)
		}
	}
	return nil
}

// migrateFile brings one file to the target version as containerd 2.3 and
// later do before the merge: each step migrates the plugins' sections too,
// those of disabled plugins included.
func migrateFile(rt Runtime, f *file2, target int, order []string) error {
	for v := f.Version; v < target; v++ {
		if err := migrateTo(f, v+1, rt.configVersion(), order); err != nil {
			return err
		}
		if v >= rt.configVersion() {
			continue
		}
		if err := migratePlugins(rt, f.Plugins, nil); err != nil {
			return err
		}
	}
	return nil
}

// migrateMerged is the one migration of 2.0 to 2.2, of the merged files.
func migrateMerged(rt Runtime, out *file2) error {
	if out.Version >= rt.configVersion() {
		return nil
	}
	return migratePlugins(rt, out.Plugins, keySet(out.DisabledPlugins...))
}

// handlersOf returns the handlers that a file gives to the plugin that counts.
func handlersOf(plugins map[string]any) map[string]any {
	p, _ := plugins[runtimeCRI].(map[string]any)
	c, _ := p["containerd"].(map[string]any)
	r, _ := c["runtimes"].(map[string]any)
	return r
}
