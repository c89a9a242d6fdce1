package main

import (
	"fmt"
	"maps"
	"slices"
	"sort"

	"github.com/runtimegate/runtimegate/config"
	"github.com/runtimegate/runtimegate/config/hostfs"
)

// A bisectRow is the answer with some of the drop-ins.
type bisectRow struct {
	// DropIns is "all", "none", "without" (all but File) or "only" (File alone).
	DropIns        string   `json:"dropIns"`
	File           string   `json:"file,omitempty"`
	Handlers       []string `json:"handlers"`
	DefaultHandler string   `json:"defaultHandler"`
	State          string   `json:"state"`
	Reason         string   `json:"reason,omitempty"`
	// Lost are handlers that some other row has, or that a file defines.
	Lost []string `json:"lost"`
}

// maxBisect bounds the drop-ins of a bisection, which loads the whole twice
// for each.
const maxBisect = 200

// bisect loads the configuration with all drop-ins, each left out, each alone,
// and none.
func bisect(host *hostfs.FS, opt config.Options) ([]bisectRow, error) {
	files, err := dropIns(host, opt)
	if err != nil {
		return nil, err
	}
	// Those that are left out on the command line stay so in every row.
	files = slices.DeleteFunc(files, func(f string) bool { return matchesWithout(opt.Without, f) })
	if len(files) > maxBisect {
		return nil, fmt.Errorf("--bisect: %d drop-ins are more than %d", len(files), maxBisect)
	}
	var rows []bisectRow
	written := map[string]bool{}
	add := func(kind, file string, opt config.Options) error {
		r, err := config.Load(host, opt)
		if err != nil {
			return err
		}
		for _, h := range handlersOf(r) {
			if len(h.Origins) > 0 {
				written[h.Name] = true
			}
		}
		cri := loadedCRI(r)
		rows = append(rows, bisectRow{
			DropIns: kind, File: file, Handlers: names(cri), DefaultHandler: cri.DefaultHandler,
			State: string(r.Daemon.State), Reason: r.Daemon.Reason,
		})
		return nil
	}
	if err := add("all", "", opt); err != nil {
		return nil, err
	}
	for _, f := range files {
		left := opt
		left.Without = append(slices.Clone(opt.Without), f)
		if err := add("without", f, left); err != nil {
			return nil, err
		}
	}
	for _, f := range files {
		alone := opt
		alone.WithoutDropIns, alone.Keep = true, []string{f}
		if err := add("only", f, alone); err != nil {
			return nil, err
		}
	}
	opt.WithoutDropIns = true
	if err := add("none", "", opt); err != nil {
		return nil, err
	}
	fillLost(rows, written)
	return rows, nil
}

// fillLost notes what each row lacks of what any row has, or any file defines: what
// all rows lack, no drop-in has taken away.
func fillLost(rows []bisectRow, written map[string]bool) {
	all := maps.Clone(written)
	for _, r := range rows {
		for _, h := range r.Handlers {
			all[h] = true
		}
	}
	for i := range rows {
		rows[i].Lost = []string{}
		for h := range all {
			if !slices.Contains(rows[i].Handlers, h) {
				rows[i].Lost = append(rows[i].Lost, h)
			}
		}
		sort.Strings(rows[i].Lost)
	}
}

// dropIns are the files that are read beside the main one, in load order. A
// file that ends the load hides those behind it: they come into view when it is
// left out.
func dropIns(host *hostfs.FS, opt config.Options) ([]string, error) {
	opt.Without, opt.WithoutDropIns, opt.Keep = nil, false, nil
	var files []string
	for {
		r, err := config.Load(host, opt)
		if err != nil {
			return nil, err
		}
		failed := ""
		for _, f := range r.Files {
			if f.Path == opt.Path {
				continue
			}
			if !slices.Contains(files, f.Path) {
				files = append(files, f.Path)
			}
			if f.Error != "" {
				failed = f.Path
			}
		}
		if failed == "" || slices.Contains(opt.Without, failed) || len(files) > maxBisect {
			return files, nil
		}
		opt.Without = append(slices.Clone(opt.Without), failed)
	}
}
