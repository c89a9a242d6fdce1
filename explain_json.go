package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/runtimegate/runtimegate/config"
)

// explainJSON is what other programs read: fields may be added, none may go.
type explainJSON struct {
	Runtime  runtimeJSON      `json:"runtime"`
	Config   string           `json:"config"`
	Notes    []string         `json:"notes,omitempty"`
	Dump     dumpJSON         `json:"dump"`
	Daemon   daemonJSON       `json:"daemon"`
	Imports  []*config.File   `json:"imports"`
	Handlers []handlerJSON    `json:"handlers"`
	Findings []config.Finding `json:"findings"`
	Bisect   []config.Variant `json:"bisect,omitempty"`
}

type runtimeJSON struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type dumpJSON struct {
	Exit           int      `json:"exit"`
	Handlers       []string `json:"handlers"`
	DefaultHandler string   `json:"defaultHandler"`
	CDI            *bool    `json:"cdi,omitempty"`
	Error          string   `json:"error"`
	// Unreadable: the real dump is not valid TOML.
	Unreadable bool `json:"unreadable,omitempty"`
}

type daemonJSON struct {
	State          config.DaemonState `json:"state"`
	Handlers       []string           `json:"handlers"`
	DefaultHandler string             `json:"defaultHandler"`
	Reason         string             `json:"reason"`
}

type handlerJSON struct {
	Name        string          `json:"name"`
	Fate        config.Fate     `json:"fate"`
	Default     bool            `json:"default,omitempty"`
	RuntimeType string          `json:"runtimeType,omitempty"`
	RuntimePath string          `json:"runtimePath,omitempty"`
	BinaryName  string          `json:"binaryName,omitempty"`
	Origins     []config.Origin `json:"origins"`
	Shim        *config.Program `json:"shim,omitempty"`
	Binary      *config.Program `json:"binary,omitempty"`
}

func (e *oneExplained) json() explainJSON {
	r := e.result
	final := r.Final()
	j := explainJSON{
		Runtime: runtimeJSON{r.Runtime.Name, r.Runtime.Version},
		Config:  e.file,
		Notes:   r.Notes,
		Dump: dumpJSON{
			Exit: r.Dump.Exit, Handlers: r.Dump.CRI.Names(), DefaultHandler: r.Dump.CRI.DefaultHandler,
			CDI: r.Dump.CRI.CDI, Error: r.Dump.Error, Unreadable: r.Dump.Unreadable,
		},
		Daemon: daemonJSON{
			State: r.Daemon.State, Handlers: r.Daemon.CRI.Names(), DefaultHandler: r.Daemon.CRI.DefaultHandler, Reason: r.Daemon.Reason,
		},
		Imports:  r.Files,
		Findings: r.Findings,
		Bisect:   e.bisect,
	}
	for _, h := range r.Handlers {
		_, loaded := final.Handler(h.Name)
		j.Handlers = append(j.Handlers, handlerJSON{
			Name: h.Name, Fate: h.Fate, Default: loaded && h.Name == final.DefaultHandler,
			RuntimeType: h.RuntimeType, RuntimePath: h.RuntimePath, BinaryName: h.BinaryName,
			Origins: orEmpty(h.Origins), Shim: h.Shim, Binary: h.Binary,
		})
	}
	j.Imports, j.Handlers, j.Findings = orEmpty(j.Imports), orEmpty(j.Handlers), orEmpty(j.Findings)
	return j
}

// orEmpty makes JSON say [] and not null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// print writes all that was explained and turns findings into the exit code.
func (o *explainOptions) print(cmd *cobra.Command, all []oneExplained, who string) error {
	out := cmd.OutOrStdout()
	var err error
	if o.output == "table" {
		p := &explainPrinter{out: out, color: colorful(out)}
		p.all(all, who)
		err = p.err
	} else {
		err = o.printJSON(out, all)
	}
	if err != nil {
		return err
	}
	for _, one := range all {
		for _, f := range one.result.Findings {
			if f.Severity != config.Info {
				return &exitError{code: 1}
			}
		}
	}
	return nil
}

func (o *explainOptions) printJSON(out io.Writer, all []oneExplained) error {
	var v any
	if len(all) == 1 {
		v = all[0].json()
	} else {
		list := []explainJSON{}
		for _, one := range all {
			list = append(list, one.json())
		}
		v = list
	}
	text, err := json.MarshalIndent(v, "", "  ")
	if err == nil && o.output == "yaml" {
		text, err = yaml.JSONToYAML(text)
		_, werr := out.Write(text)
		if err == nil {
			err = werr
		}
		return err
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\n", text)
	return err
}
