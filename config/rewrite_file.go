package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A part is a table header with the keys below it, or the keys before the first
// header.
type part struct {
	header *statement
	keys   []*statement
	// table is where it belongs.
	table []string
	// texts are what becomes of the keys that stay in it, moved what came from
	// other tables; away counts the keys that left it.
	texts, moved []string
	away         int
	// blocks are new tables behind it.
	blocks []*block
	// drop leaves the header out.
	drop bool
}

// A block is a table that the file did not have.
type block struct {
	table []string
	// indent is that of its header.
	indent string
	text   strings.Builder
}

// A rewriter brings one file to a newer config version.
type rewriter struct {
	*mover
	draft *draft
	parts []*part
	quote string
	added map[string]*block
	// changed is set when anything but the version is other than before.
	changed bool
	// linux is set where some file sets up the runtime plugin of 1.x.
	linux bool
	// importOf returns what is to be written for a pattern of imports.
	importOf func(pattern string) string
}

// rewrite returns the text of a file as the target version has it, the same text
// where nothing is to be done. With main the file says its version even if nothing
// else of it changes. An error says why it can't be edited safely.
func rewrite(from, to Runtime, data []byte, main, linux bool, importOf func(string) string) ([]byte, error) {
	d, err := readDraft(data)
	if err != nil {
		return nil, err
	}
	version, at, err := d.version()
	if err != nil {
		return nil, err
	}
	r := &rewriter{mover: newMover(from, to, version, d), draft: d, quote: `"`, added: map[string]*block{}, linux: linux, importOf: importOf}
	if strings.Contains(string(data), "plugins.'") {
		r.quote = "'"
	}
	old := version < newestKept && to.class() != classA
	r.split()
	if old {
		if err := r.place(); err != nil {
			return nil, err
		}
	}
	for _, p := range r.parts {
		for _, key := range p.keys {
			if err := r.key(p, key, old); err != nil {
				return nil, err
			}
		}
	}
	if old {
		r.chooseDefault()
	}
	if to.class() == classA && !r.changed {
		return data, nil
	}
	text := r.text()
	if at == nil && old && (main || r.changed) {
		text = fmt.Sprintf("version = %d%s", newestKept, d.eol) + text
	}
	return []byte(text), nil
}

func pathKey(path []string) string { return strings.Join(path, pathSep) }

// version is what the file says of its version, and where.
func (d *draft) version() (int, *statement, error) {
	for _, st := range d.statements {
		if st.header || len(st.path) != 1 || !foldEqual(st.path[0], "version") {
			continue
		}
		n, err := strconv.ParseInt(st.value, 0, 32)
		if err != nil || n < 0 {
			return 0, nil, fmt.Errorf("its version is no number: %s", strings.TrimSpace(st.text))
		}
		return int(n), st, nil
	}
	return 0, nil, nil
}

// split makes parts of the statements.
func (r *rewriter) split() {
	r.parts = []*part{{}}
	for _, st := range r.draft.statements {
		if st.header {
			r.parts = append(r.parts, &part{header: st, table: st.path})
		} else {
			last := r.parts[len(r.parts)-1]
			last.keys = append(last.keys, st)
		}
	}
}

// place decides for each table where it belongs: with its keys, when these all
// belong in one.
func (r *rewriter) place() error {
	// Tables that are there anyway.
	claimed := set{}
	for _, p := range r.parts {
		if p.header != nil {
			claimed[pathKey(r.move(p.header.path))] = true
		}
	}
	for _, p := range r.parts {
		if p.header == nil {
			continue
		}
		p.table = r.move(p.header.path)
		parents, err := r.parents(p)
		if err != nil {
			return err
		}
		if _, ok := r.criPath(p.header.path); ok && len(parents) == 1 && !claimed[pathKey(parents[0])] {
			p.table = parents[0]
			claimed[pathKey(p.table)] = true
		}
		p.drop = len(parents) == 0 && r.gone(p.table)
	}
	return nil
}

// parents are the tables in which the keys of a part belong.
func (r *rewriter) parents(p *part) (parents [][]string, err error) {
	for _, key := range p.keys {
		to := r.move(key.path)
		if r.leaveOut(key, to) {
			continue
		}
		for _, below := range key.below {
			if want := append(slices.Clone(to), below[len(key.path):]...); !slices.Equal(r.move(below), want) {
				return nil, fmt.Errorf("the inline table %s holds what belongs in several tables: write it as tables", tableText(key.path))
			}
		}
		parent := to[:max(len(to)-len(key.own()), 0)]
		if !slices.ContainsFunc(parents, func(p []string) bool { return slices.Equal(p, parent) }) {
			parents = append(parents, parent)
		}
	}
	return parents, nil
}

// leaveOut tells whether a key is of no use to the target and says nothing.
func (r *rewriter) leaveOut(key *statement, to []string) bool {
	if key.value == "false" && slices.Equal(to, []string{"plugins", shimManager, "env"}) {
		return true
	}
	return r.gone(to) && (isNothing(key) || to[len(to)-1] == "enable_cdi")
}

// key puts one key where it belongs.
func (r *rewriter) key(p *part, st *statement, old bool) error {
	switch {
	case len(st.path) == 1 && foldEqual(st.path[0], "imports"):
		p.texts = append(p.texts, st.lead+r.replaceStrings(st, r.importOf))
		return nil
	case !old:
		same := *st
		r.changeValue(&same, st.path)
		r.changed = r.changed || same.text != st.text
		p.texts = append(p.texts, st.lead+same.text)
		return nil
	case len(st.path) == 1 && foldEqual(st.path[0], "version"):
		p.texts = append(p.texts, st.lead+st.revalue(strconv.Itoa(newestKept)))
		return nil
	case len(st.path) == 1 && (st.path[0] == "disabled_plugins" || st.path[0] == "required_plugins"):
		p.texts = append(p.texts, st.lead+r.replaceStrings(st, r.pluginNow))
		return nil
	}
	to := r.move(st.path)
	if r.leaveOut(st, to) {
		r.changed = true
		if strings.Contains(st.lead, "#") {
			p.texts = append(p.texts, st.lead)
		}
		return nil
	}
	moved := *st
	r.changeValue(&moved, to)
	if len(to) > len(p.table) && slices.Equal(to[:len(p.table)], p.table) {
		names := to[len(p.table):]
		text := moved.rekey(names)
		r.changed = r.changed || text != st.text
		p.texts = append(p.texts, st.lead+text)
		return nil
	}
	r.changed = true
	p.away++
	r.add(p, to[:len(to)-1], strings.TrimLeft(st.lead, " \t\r\n"), r.ended(moved.rekey(to[len(to)-1:])))
	return nil
}

// pluginNow is the name that a plugin has in the target.
func (r *rewriter) pluginNow(name string) string {
	name = r.plugin(name)
	if now := renamedPlugins[name]; now != "" {
		return now
	}
	return name
}

// changeValue writes a value as the key that it moves to wants it.
func (r *rewriter) changeValue(st *statement, to []string) {
	if !st.scalar {
		return
	}
	shim := r.newShim(st, to)
	switch raw := st.text[st.strings[0][0]:st.strings[0][1]]; {
	case shim != "":
		st.text = st.revalue(raw[:1] + shim + raw[:1])
	case r.legacy["default_runtime"] && slices.Equal(to, defaultName):
		st.text = st.revalue(`"default"`)
	case to[len(to)-1] == "bin_dirs" && st.path[len(st.path)-1] == "bin_dir":
		st.text = st.revalue("[" + raw + "]")
	case slices.Equal(to, []string{"plugins", shimManager, "env"}) && st.path[len(st.path)-1] == "sched_core":
		st.text = st.revalue(`["SCHED_CORE=1"]`)
	}
}

// add adds a statement to a table: to one that the file has, or to a new one
// behind p.
func (r *rewriter) add(p *part, table []string, comments, text string) {
	for _, other := range r.parts {
		if other.header != nil && !other.header.array && slices.Equal(other.table, table) {
			indent := other.header.indent()
			other.moved = append(other.moved, indented(indent, comments)+indented(indent, text))
			return
		}
	}
	key := pathKey(table)
	b := r.added[key]
	if b == nil {
		b = &block{table: table}
		if p.header != nil {
			b.indent = p.header.indent()
		}
		r.added[key] = b
		p.blocks = append(p.blocks, b)
	}
	b.text.WriteString(indented(b.indent, comments) + indented(b.indent, text))
}

// indented is a comment or statement as it stands below a header. Of what has
// several lines only the first is moved, since the others may be in a string.
func indented(header, text string) string {
	indent := header + "  "
	var out strings.Builder
	for line := range strings.Lines(text) {
		first := out.Len() == 0
		if trimmed := strings.TrimLeft(line, " \t"); first || strings.HasPrefix(trimmed, "#") && strings.HasPrefix(text, "#") {
			line = indent + trimmed
		}
		out.WriteString(line)
	}
	return out.String()
}

// defaultName is the key that names the default handler.
var defaultName = []string{"plugins", runtimeCRI, "containerd", "default_runtime_name"}

// chooseDefault makes the handler of default_runtime the default, as 1.x does.
func (r *rewriter) chooseDefault() {
	if !r.legacy["default_runtime"] || slices.ContainsFunc(r.draft.statements, func(s *statement) bool { return slices.Equal(r.move(s.path), defaultName) }) {
		return
	}
	r.changed = true
	last := len(defaultName) - 1
	r.add(r.parts[len(r.parts)-1], defaultName[:last], "", fmt.Sprintf("%s = %q%s", defaultName[last], "default", r.draft.eol))
}

// replaceStrings writes a statement with other strings in its array.
func (r *rewriter) replaceStrings(st *statement, other func(string) string) string {
	text := st.text
	for _, at := range slices.Backward(st.strings) {
		raw := text[at[0]:at[1]]
		if len(raw) < 2 || strings.Contains(raw, `\`) || len(raw) > 5 && raw[1] == raw[0] {
			continue
		}
		if now := other(raw[1 : len(raw)-1]); now != raw[1:len(raw)-1] {
			r.changed = true
			text = text[:at[0]] + raw[:1] + now + raw[:1] + text[at[1]:]
		}
	}
	return text
}

// text puts the parts together again.
func (r *rewriter) text() string {
	var out []string
	for _, p := range r.parts {
		out = append(out, r.head(p))
		out = append(append(out, p.texts...), p.moved...)
		for _, b := range p.blocks {
			out = append(out, fmt.Sprintf("%s%s[%s]%s%s", r.draft.eol, b.indent, r.tableText(b.table), r.draft.eol, b.text.String()))
		}
	}
	out = slices.DeleteFunc(append(out, r.draft.tail), func(s string) bool { return s == "" })
	for i := range out {
		if i < len(out)-1 {
			out[i] = r.ended(out[i])
		}
	}
	return strings.Join(out, "")
}

// head is the header of a part, if it is kept.
func (r *rewriter) head(p *part) string {
	switch {
	case p.header == nil:
		return ""
	case p.drop || p.away > 0 && p.away == len(p.keys) && len(p.moved) == 0:
		r.changed = true
		if strings.Contains(p.header.lead, "#") {
			return p.header.lead
		}
		return ""
	}
	text := p.header.text
	if !slices.Equal(p.table, p.header.path) {
		r.changed = true
		text = p.header.rekey(p.table)
	}
	return p.header.lead + text
}

// ended ends a text with the end of a line.
func (r *rewriter) ended(text string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += r.draft.eol
	}
	return text
}

// tableText is a table's key in the file's own style of quoting.
func (r *rewriter) tableText(table []string) string {
	text := tableText(table)
	if r.quote == "'" && !strings.ContainsAny(text, `'\`) {
		text = strings.ReplaceAll(text, `"`, "'")
	}
	return text
}
