package config

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"
)

// template reports a template of k3s or RKE2 that replaces the distribution's own. One
// without actions is the file that their next start writes: what it lacks is told.
func (f *finder) template(file *File) {
	name := path.Join(path.Dir(file.Path), "config.toml.tmpl")
	if v3 := path.Join(path.Dir(file.Path), "config-v3.toml.tmpl"); f.rt.atLeast(2, 0, 0) && f.fs.Exists(v3) {
		name = v3
	}
	text, err := f.fs.ReadFile(name)
	if err != nil || f.opt.rendered {
		return
	}
	who := "k3s"
	if strings.Contains(file.Path, "/rke2/") {
		who = "RKE2"
	}
	base, err := takesBase(path.Base(name), string(text))
	if err != nil {
		line, fault := templateFault(path.Base(name), err)
		f.add(CodeTemplateReplacesBase, Error, Place{File: name, Line: line}, "", FixBeforeRestart,
			"%s writes %s from this template at every start, and does not start with it: %s", who, path.Base(file.Path), fault)
	}
	if base || err != nil {
		return
	}
	severity, lacks := Info, fmt.Sprintf("what newer versions add to their own is not in it, and what it makes is known to %s only", who)
	if !strings.Contains(string(text), "{{") {
		severity, lacks = f.rendered(file, text, who)
	}
	f.add(CodeTemplateReplacesBase, severity, Place{File: name, Line: 1}, "", `begin it with {{ template "base" . }}, and leave in it only what is to be added`,
		"%s writes %s from this template at every start, which replaces its own: %s", who, path.Base(file.Path), lacks)
}

// takesBase tells whether a template takes in that of k3s or RKE2, of September 2023
// and later. In a comment of TOML it does, in one of the template itself not.
func takesBase(name, text string) (bool, error) {
	tree := parse.New(name)
	tree.Mode = parse.SkipFuncCheck
	all := map[string]*parse.Tree{}
	if _, err := tree.Parse(text, "", "", all); err != nil {
		return false, err
	}
	seen := set{}
	var in func(n parse.Node) bool
	branch := func(b *parse.BranchNode) bool { return in(b.List) || b.ElseList != nil && in(b.ElseList) }
	in = func(n parse.Node) bool {
		switch n := n.(type) {
		case *parse.ListNode:
			return n != nil && slices.ContainsFunc(n.Nodes, in)
		case *parse.IfNode:
			return branch(&n.BranchNode)
		case *parse.RangeNode:
			return branch(&n.BranchNode)
		case *parse.WithNode:
			return branch(&n.BranchNode)
		case *parse.TemplateNode:
			if n.Name == "base" || seen[n.Name] || all[n.Name] == nil {
				return n.Name == "base"
			}
			seen[n.Name] = true
			return in(all[n.Name].Root)
		}
		return false
	}
	return in(tree.Root), nil
}

// templateFault is what the parser says of a template, with the line.
func templateFault(name string, err error) (line int, text string) {
	text = strings.TrimPrefix(err.Error(), "template: "+name+":")
	at, fault, ok := strings.Cut(text, ": ")
	if line, err = strconv.Atoi(at); !ok || err != nil {
		return 1, text
	}
	return line, fault
}

// rendered says what is other than now when a file has that text.
func (f *finder) rendered(file *File, text []byte, who string) (Severity, string) {
	opt := f.opt
	opt.rendered, opt.NoPrograms = true, true
	real, _, err := f.fs.Resolve(file.Path)
	if err != nil {
		return Info, "what that changes is not known"
	}
	now, err := loadSettings(f.fs, opt)
	if err != nil {
		return Info, "what that changes is not known"
	}
	then, err := loadSettings(f.fs.With(map[string][]byte{real: text}), opt)
	if err != nil {
		return Info, "what that changes is not known"
	}
	for path, value := range f.rt.stock() {
		if sameSetting(value, now.settings[path]) {
			then.usual[path] = now.settings[path]
		}
	}
	severity := Warning
	var lacks []string
	for _, c := range changes(now, then, now.Files) {
		if !c.Loss() {
			continue
		}
		lacks = append(lacks, c.Message)
		if slices.Contains([]ChangeKind{ChangeDaemon, ChangeLost, ChangeDefault}, c.Kind) {
			severity = Error
		}
	}
	if len(lacks) == 0 {
		return Info, fmt.Sprintf("what %s sets by itself, as the image for sandboxes and the folders of CNI, is not in it", who)
	}
	const most = 4
	if n := len(lacks); n > most {
		lacks = append(lacks[:most], fmt.Sprintf("and %d more", n-most))
	}
	return severity, "after the next one " + strings.Join(lacks, "; ")
}
