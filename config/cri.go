package config

import (
	"slices"
	"strings"
)

// A Handler is one entry of a runtime's table of runtime handlers: the thing
// a RuntimeClass names in its field handler.
type Handler struct {
	// Name is the key of the entry; the CRI calls it runtime handler.
	Name string
	// RuntimeType names the shim, as in io.containerd.runc.v2, or is the
	// absolute path of one. CRI-O: oci, vm or pod. Empty when nothing set it,
	// in which case no sandbox of this handler can start.
	RuntimeType string
	// RuntimePath is the absolute path of the shim (containerd's runtime_path)
	// or of the OCI runtime (CRI-O's); empty when the shim is looked up by type.
	RuntimePath string
	// BinaryName is options.BinaryName: the OCI runtime that the runc shim
	// calls. Other shims ignore it.
	BinaryName string
}

// CRI is what the CRI part of a runtime has, or would have, loaded.
type CRI struct {
	// Handlers are sorted by name.
	Handlers []Handler
	// DefaultHandler serves Pods that name no RuntimeClass. It need not be one
	// of Handlers: that is a fault that callers report.
	DefaultHandler string
	// CDI says whether CDI device injection is on; nil when the source does
	// not tell.
	CDI *bool
	// Settings are what else is set of containerd's handlers, by handler and key; what
	// is empty or off is left out. Nil when the source does not tell.
	Settings map[string]map[string]string
}

// Handler returns the handler of that name.
func (c *CRI) Handler(name string) (Handler, bool) {
	i, ok := slices.BinarySearchFunc(c.Handlers, name, func(h Handler, name string) int {
		return strings.Compare(h.Name, name)
	})
	if !ok {
		return Handler{}, false
	}
	return c.Handlers[i], true
}

// Names returns the names of the handlers, sorted.
func (c *CRI) Names() []string {
	names := make([]string, len(c.Handlers))
	for i, h := range c.Handlers {
		names[i] = h.Name
	}
	return names
}

// Sort sorts the handlers by name, the order that Handler relies on.
func (c *CRI) Sort() {
	slices.SortFunc(c.Handlers, func(a, b Handler) int { return strings.Compare(a.Name, b.Name) })
}
