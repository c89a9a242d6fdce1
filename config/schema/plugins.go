package schema

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"strings"
	"sync"
	"time"
)

// The lists of plugins are made by asking the registry of a real build; see
// e2e/configdiff. A line has the plugin's name and the shape of its section.
//
//go:embed plugins/*.txt
var lists embed.FS

// A Text is a value that containerd reads from a string, a duration.
type Text struct{}

// UnmarshalText takes durations.
func (*Text) UnmarshalText(text []byte) error {
	_, err := time.ParseDuration(string(text))
	return err
}

// Plugins are the plugins built into a minor version of containerd. The value
// is the type of the plugin's section; nil for a plugin without one.
func Plugins(minor string) (map[string]reflect.Type, error) {
	list, _ := cache.LoadOrStore(minor, sync.OnceValues(func() (map[string]reflect.Type, error) { return read(minor) }))
	return list.(func() (map[string]reflect.Type, error))()
}

var cache sync.Map

func read(minor string) (map[string]reflect.Type, error) {
	text, err := fs.ReadFile(lists, "plugins/plugins-"+minor+".txt")
	if err != nil {
		return nil, fmt.Errorf("plugins of containerd %s: %w", minor, err)
	}
	plugins := map[string]reflect.Type{}
	for line := range strings.Lines(string(text)) {
		name, shape, _ := strings.Cut(strings.TrimSpace(line), " ")
		plugins[name] = nil
		if shape == "" {
			continue
		}
		p := parser{text: shape}
		t, err := p.shape()
		if err != nil {
			return nil, fmt.Errorf("plugins of containerd %s: %s: %w", minor, name, err)
		}
		plugins[name] = t
	}
	return plugins, nil
}

// A parser reads a shape: a kind, "[]" and "*" before one, "map " before the
// kind of the values, or fields in braces.
type parser struct{ text string }

var kinds = map[string]reflect.Type{
	"string": reflect.TypeFor[string](), "bool": reflect.TypeFor[bool](), "any": reflect.TypeFor[any](),
	"int": reflect.TypeFor[int](), "int32": reflect.TypeFor[int32](), "int64": reflect.TypeFor[int64](),
	"uint": reflect.TypeFor[uint](), "uint32": reflect.TypeFor[uint32](), "uint64": reflect.TypeFor[uint64](),
	"uint8": reflect.TypeFor[uint8](), "uint16": reflect.TypeFor[uint16](), "float64": reflect.TypeFor[float64](),
	"text": reflect.TypeFor[Text](), "duration": reflect.TypeFor[time.Duration](),
}

func (p *parser) cut(prefix string) bool {
	rest, ok := strings.CutPrefix(p.text, prefix)
	if ok {
		p.text = rest
	}
	return ok
}

func (p *parser) shape() (reflect.Type, error) {
	wrap := func(make func(reflect.Type) reflect.Type) (reflect.Type, error) {
		t, err := p.shape()
		if err != nil {
			return nil, err
		}
		return make(t), nil
	}
	switch {
	case p.cut("*"):
		return wrap(reflect.PointerTo)
	case p.cut("[]"):
		return wrap(reflect.SliceOf)
	case p.cut("map "):
		return wrap(func(t reflect.Type) reflect.Type { return reflect.MapOf(kinds["string"], t) })
	case p.cut("{"):
		return p.fields()
	}
	end := strings.IndexAny(p.text, ";}")
	if end < 0 {
		end = len(p.text)
	}
	t, ok := kinds[p.text[:end]]
	if !ok {
		return nil, fmt.Errorf("unknown kind %q", p.text[:end])
	}
	p.text = p.text[end:]
	return t, nil
}

func (p *parser) fields() (reflect.Type, error) {
	var fields []reflect.StructField
	for !p.cut("}") {
		p.cut(";")
		name, rest, ok := strings.Cut(p.text, ":")
		if !ok {
			return nil, errors.New("a field without a shape")
		}
		p.text = rest
		t, err := p.shape()
		if err != nil {
			return nil, err
		}
		fields = append(fields, reflect.StructField{
			Name: fmt.Sprintf("F%d", len(fields)), Type: t, Tag: reflect.StructTag(fmt.Sprintf("toml:%q", name)),
		})
	}
	return reflect.StructOf(fields), nil
}
