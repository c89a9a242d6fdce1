package config

import (
	"path"

	"github.com/runtimegate/runtimegate/config/hostfs"
)

// A Variant is a load with some drop-ins left out.
type Variant struct {
	// Name says which: "all", "main only", "only X", "without X".
	Name string `json:"name"`
	// Exit is the dump's exit code.
	Exit           int         `json:"exit"`
	State          DaemonState `json:"state"`
	Handlers       []string    `json:"handlers"`
	DefaultHandler string      `json:"defaultHandler"`
}

// maxVariants bounds the drop-ins that Bisect tries.
const maxVariants = 100

// Bisect loads the main file alone, each drop-in of r alone beside it, and all
// but each: what a person does by hand to find the one that does it.
func Bisect(host *hostfs.FS, opt Options, r *Result) ([]Variant, error) {
	variants := []Variant{variantOf("all", r)}
	try := func(name string, o Options) error {
		r, err := Load(host, o)
		if err != nil {
			return err
		}
		variants = append(variants, variantOf(name, r))
		return nil
	}
	main := opt
	main.WithoutDropIns = true
	if err := try("main only", main); err != nil {
		return nil, err
	}
	var dropIns []string
	names := set{}
	for _, f := range r.Files {
		if f.Path != opt.Path && len(dropIns) < maxVariants {
			dropIns = append(dropIns, f.Path)
			names[path.Base(f.Path)] = true
		}
	}
	label := path.Base
	if len(names) < len(dropIns) {
		label = func(name string) string { return name }
	}
	for _, name := range dropIns {
		o := main
		o.Keep = []string{name}
		if err := try("only "+label(name), o); err != nil {
			return nil, err
		}
	}
	for _, name := range dropIns {
		o := opt
		o.Without = append(append([]string{}, opt.Without...), name)
		if err := try("without "+label(name), o); err != nil {
			return nil, err
		}
	}
	return variants, nil
}

func variantOf(name string, r *Result) Variant {
	final := r.Final()
	v := Variant{Name: name, Exit: r.Dump.Exit, State: r.Daemon.State, Handlers: final.Names(), DefaultHandler: final.DefaultHandler}
	return v
}
