package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"

	"github.com/runtimegate/runtimegate/config"
)

// versionFlag names migrate's flag where explain's is meant.
var versionFlag = strings.NewReplacer("--runtime-version", "--from")

// What becomes of a configuration.
const (
	lossNone    = iota // nothing is lost, or all is mended
	lossLeft           // something is lost that is not mended
	lossUnknown        // the older version loads nothing to compare with
)

// shellPlain are the characters that mean nothing to a shell.
const shellPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+,:@%"

// A migration is what migrate says: the contract of -o json.
type migration struct {
	From   runtimeView `json:"from"`
	To     runtimeView `json:"to"`
	Config configView  `json:"config"`
	Notes  []string    `json:"notes"`
	// Losses are with the files as they are, Left when they are mended. Both have
	// handlers that are gained and settings that come into force, too.
	Losses []config.Change `json:"losses"`
	Left   []config.Change `json:"left"`
	// Findings are those of the newer version that the files would still have, of
	// files that it does not read.
	Findings []config.Finding `json:"findings"`
	Files    []migratedFile   `json:"files"`
	Written  []writtenFile    `json:"written,omitempty"`

	upgrade *config.Upgrade
	state   int
	// root is the folder here that is the node's root.
	root string
}

// A migratedFile is one file of the import tree.
type migratedFile struct {
	File    string `json:"file"`
	Changed bool   `json:"changed"`
	// Diff is a unified diff.
	Diff string `json:"diff,omitempty"`
	// Problem says why the file cannot be edited safely.
	Problem string `json:"problem,omitempty"`
}

// A writtenFile is a file that was written, and where the old one is.
type writtenFile struct {
	File   string `json:"file"`
	Backup string `json:"backup"`
	// Replaced is the file that was: not File, where that is a symbolic link.
	Replaced string `json:"replaced"`
}

func newMigration(t *target, u *config.Upgrade, note string) *migration {
	m := &migration{
		From:    runtimeView{u.Before.Runtime.Name, u.Before.Runtime.Version},
		To:      runtimeView{u.Mended.Runtime.Name, u.Mended.Runtime.Version},
		Config:  configView{Path: t.Path, Installation: t.Who, Taken: t.sentence(), NotTaken: t.others},
		Notes:   append([]string{}, u.Mended.Notes...),
		Losses:  u.Losses,
		Left:    u.Left,
		Files:   []migratedFile{},
		upgrade: u,
	}
	if note != "" {
		m.Notes = append(m.Notes, note)
	}
	m.Findings = slices.DeleteFunc(append([]config.Finding{}, u.Mended.Findings...), func(f config.Finding) bool {
		return f.Code != config.CodeNotImported && f.Code != config.CodeImportMatchesNothing || f.Severity == config.Info
	})
	for i := range u.Files {
		f := &u.Files[i]
		if f.Changed() && f.Generated() {
			m.Notes = append(m.Notes, fmt.Sprintf("%s is written anew at every start: what is to be migrated is the template beside it", f.Path))
		}
		m.Files = append(m.Files, migratedFile{File: f.Path, Changed: f.Changed(), Diff: unifiedDiff(f), Problem: f.Problem})
	}
	switch {
	case u.Before.Daemon.State == config.NoStart:
		m.state = lossUnknown
	case slices.ContainsFunc(u.Left, config.Change.Loss):
		m.state = lossLeft
	}
	return m
}

// patterns are the imports that may match more than one file.
func (m *migration) patterns() (all []string) {
	for _, r := range []*config.Result{m.upgrade.Before, m.upgrade.Mended} {
		for _, f := range r.Files {
			for _, i := range f.Imports {
				all = append(all, i.Path)
			}
		}
	}
	return all
}

// unifiedDiff is the change of a file as patch -p1 takes it, in the root.
func unifiedDiff(f *config.UpgradedFile) string {
	if !f.Changed() {
		return ""
	}
	text, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: linesOf(f.Old), B: linesOf(f.New), FromFile: "a" + f.Path, ToFile: "b" + f.Path, Context: 3,
	})
	if err != nil {
		return err.Error() // never: it writes to memory
	}
	return text
}

// linesOf are the lines of a text. A last one without its end is marked, as diff
// does.
func linesOf(text []byte) []string {
	lines := strings.SplitAfter(string(text), "\n")
	last := len(lines) - 1
	if lines[last] == "" {
		return lines[:last]
	}
	lines[last] += "\n\\ No newline at end of file\n"
	return lines
}

// has tells whether anything of a kind is left with the mended files.
func (m *migration) has(kind func(config.Change) bool) bool {
	return slices.ContainsFunc(m.Left, kind)
}

// anyway tells whether what comes into force does so with the files as they are, too.
func (m *migration) anyway() bool {
	return !slices.ContainsFunc(m.Left, func(c config.Change) bool { return c.InForce() && !slices.Contains(m.Losses, c) })
}

func firstOf(changes []config.Change, kind func(config.Change) bool) string {
	i := slices.IndexFunc(changes, kind)
	return changes[i].Message
}

func (m *migration) print(w io.Writer, form string) error {
	switch form {
	case "json":
		return writeJSON(w, m)
	case "diff":
		for _, f := range m.Files {
			if _, err := io.WriteString(w, f.Diff); err != nil {
				return err
			}
		}
		return nil
	}
	p := &printer{colour: wantsColour(w)}
	m.text(p)
	_, err := w.Write(p.Bytes())
	return err
}

// text prints all for people.
func (m *migration) text(p *printer) {
	p.line("%s to %s: %s", m.upgrade.Before.Runtime, m.To.Version, printable(m.Config.Path))
	p.line("%s", printable(m.Config.Taken))
	for _, other := range m.Config.NotTaken {
		p.line("not taken: %s", printable(other))
	}
	for _, note := range m.Notes {
		p.line("note: %s", printable(note))
	}
	if m.state == lossUnknown {
		p.line("\n%s", p.paint(red, "it is not known what is lost: with these files "+m.upgrade.Before.Runtime.String()+" does not start"))
	} else if !p.upgradeChanges("LOST with the files as they are", m.Losses, config.Change.Loss, red) {
		p.line("\nNothing is lost with the files as they are.")
	}
	m.diffs(p)
	if m.state == lossLeft {
		p.upgradeChanges("STILL LOST with the mended files", m.Left, config.Change.Loss, red)
	}
	if p.upgradeChanges("NOW IN FORCE, though ignored before: take out what is not wanted", m.Left, config.Change.InForce, red) && m.anyway() {
		p.line("  The upgrade brings it into force, whether the files are mended or not.")
	}
	p.upgradeChanges("GAINED", m.Left, config.Change.Gained, yellow)
	if len(m.Findings) > 0 {
		p.heading("NOT READ, before or after")
		for _, f := range m.Findings {
			p.line("  %s: %s", printable(place(f.File, f.Line)), printable(f.Message))
			if f.Fix != "" {
				p.line("    %s", printable(f.Fix))
			}
		}
	}
	for _, f := range m.Written {
		p.line("\nwrote %s; the old one is %s", printable(f.File), printable(f.Backup))
	}
	if len(m.Written) > 0 {
		p.heading("TO GO BACK")
		for _, f := range m.Written {
			p.line("  %s", printable("mv "+m.shellPath(f.Backup)+" "+m.shellPath(f.Replaced)))
		}
	}
}

// shellPath is a path of the node as a shell here takes it.
func (m *migration) shellPath(name string) string {
	name = filepath.Join(m.root, name)
	if strings.Trim(name, shellPlain) == "" {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}

// diffs prints the mended files, and those that it leaves to people.
func (m *migration) diffs(p *printer) {
	changed, problems := 0, 0
	for _, f := range m.Files {
		if f.Changed {
			changed++
		}
		if f.Problem != "" {
			problems++
		}
	}
	if changed+problems == 0 {
		p.line("\nNo file is to be changed.")
		return
	}
	if changed > 0 {
		p.heading("MENDED FILES")
		for _, f := range m.Files {
			for line := range strings.Lines(f.Diff) {
				colour := map[byte]string{'+': green, '-': red, '@': faint}[line[0]]
				p.line("%s", p.paint(colour, printable(strings.TrimRight(line, "\r\n"))))
			}
		}
	}
	if problems > 0 {
		p.heading("NOT EDITED, since it cannot be done safely")
		for _, f := range m.Files {
			if f.Problem != "" {
				p.line("  %s: %s", printable(f.File), printable(f.Problem))
			}
		}
		p.line("  Edit them by hand: %q of the newer version prints all files together as it wants them.", "containerd config migrate")
	}
}

// upgradeChanges prints those of a kind; false if there are none.
func (p *printer) upgradeChanges(heading string, changes []config.Change, kind func(config.Change) bool, colour string) bool {
	some := false
	for _, c := range changes {
		if !kind(c) {
			continue
		}
		if !some {
			p.heading("%s", heading)
			some = true
		}
		p.line("  %s", p.paint(colour, printable(c.Message)))
	}
	return some
}
