package config

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ignoredKey is a line of containerd's log about a key of a handler.
var ignoredKey = regexp.MustCompile(`key="containerd runtimes (\S+) (\S+)" plugin=io.containerd.cri.v1.runtime`)

// Of the keys of handlers that real builds of containerd 2.x said they ignore there is a
// finding, and of no others. Those that the NVIDIA toolkit writes are empty but for one tree.
func TestUnknownKeysAreThoseThatContainerdIgnores(t *testing.T) {
	n := 0
	for _, row := range readRows[struct {
		truthRow
		Daemon *struct {
			State       DaemonState `json:"state"`
			IgnoredKeys []string    `json:"ignoredKeys"`
		} `json:"daemon"`
	}](t, "testdata/truth/expected.jsonl") {
		rt := mustRuntime(t, row.Version)
		if row.Daemon == nil || row.Daemon.State != Running || rt.class() == classA {
			continue
		}
		host := hostOf(t, filepath.Join("testdata/truth/cases", row.Case), truthDir)
		r, err := Load(host, Options{Runtime: rt, Path: truthDir + "/config.toml"})
		if err != nil {
			t.Fatal(err)
		}
		var want, got []string
		for _, line := range row.Daemon.IgnoredKeys {
			if m := ignoredKey.FindStringSubmatch(line); m != nil && (strings.Contains(row.Case, "runtime-engine") || m[2] != "runtime_engine" && m[2] != "runtime_root") {
				want = append(want, m[1]+" "+m[2])
			}
		}
		for _, f := range r.Findings {
			switch {
			case f.Code == CodeUnknownKey && !strings.Contains(strings.Replace(f.Message, "runtimes.options", "", 1), ".options],"): // of options it says nothing
				_, key, _ := strings.Cut(f.Message, " knows no key ")
				key, _, _ = strings.Cut(key, " ")
				got = append(got, f.Handler+" "+key)
			case f.Code == CodeWrongParentTable && strings.Contains(f.Message, "of handler"):
				// A handler's table within another's is told as that.
				for _, w := range want {
					if strings.HasSuffix(w, " "+f.Handler) {
						got = append(got, w)
					}
				}
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		n += len(want)
		got = slices.Compact(got)
		if diff := cmp.Diff(want, got, nilIsEmpty); diff != "" {
			t.Errorf("%s with %s: -ignored +found:\n%s", row.Case, row.Version, diff)
		}
	}
	t.Logf("%d keys", n)
	if n < 100 {
		t.Errorf("only %d keys were ignored", n)
	}
}

func TestKeysOfHandlers(t *testing.T) {
	const (
		nvidia = "version = 2\n" + runc + nv1
		table  = "[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.nvidia"
		none   = "handler \"nvidia\": containerd 2.4.2 knows no key "
		stops  = "handler \"nvidia\": containerd starts with this value of SystemdCgroup, and makes no sandbox with it: none of the handler's Pods can start; SystemdCgroup has to be true or false"
	)
	at := func(line, text string) string {
		return "Warning " + line[:strings.Index(line, " ")] + " /etc/containerd/config.toml:6: " + text
	}
	for name, test := range map[string]struct {
		version, text string
		want          []string
	}{
		"a table that is no options": {"2.4.2", nvidia + table + ".option]\n  BinaryName = \"/x\"\n", []string{
			at("UnknownKey ", none+"option in "+table+"], and ignores it; write options in place of option")}},
		"a misspelt option": {"2.4.2", nvidia + table + ".options]\n  BinaryNam = \"/x\"\n", []string{
			strings.Replace(at("UnknownKey ", none+"BinaryNam in "+table+".options], and ignores it; write BinaryName in place of BinaryNam"), ":6:", ":7:", 1)}},
		"an option outside of options": {"2.4.2", nvidia + "  SystemdCgroup = true\n", []string{
			at("UnknownKey ", none+"SystemdCgroup in "+table+"], and ignores it; move it to "+table+".options]")}},
		"a key among the options": {"2.4.2", nvidia + "  options = {pod_annotations = [\"x\"]}\n", []string{
			at("UnknownKey ", none+"pod_annotations in "+table+".options], and ignores it; move it to "+table+"]")}},
		"a key of a later version": {"2.0.5", nvidia + "  cgroup_writable = true\n", []string{
			at("UnknownKey ", strings.Replace(none, "2.4.2", "2.0.5", 1)+"cgroup_writable in "+table+"], and ignores it; take it out, or correct its name")}},
		"a key of an earlier version that says nothing":  {"2.4.2", nvidia + "  runtime_engine = \"\"\n  sandbox_mode = \"podsandbox\"\n", nil},
		"options of another shim are its own":            {"2.4.2", strings.ReplaceAll(nvidia, runcV2+"\"\n[", "io.containerd.kata.v2\"\n[") + "", nil},
		"options of kata":                                {"2.4.2", strings.Replace(nvidia, nv1, strings.ReplaceAll(nv1, runcV2, "io.containerd.kata.v2"), 1) + "  options = {ConfigPath = \"/etc/kata.toml\", SystemdCgroup = \"yes\"}\n", nil},
		"keys in any case":                               {"2.4.2", nvidia + "  POD_annotations = []\n  options = {systemdcgroup = true, binaryName = \"runc\"}\n", nil},
		"a string for a boolean":                         {"2.4.2", nvidia + "  options = {SystemdCgroup = \"yes\"}\n", []string{at("OptionWrongType ", stops)}},
		"a string for a boolean, in 1.7":                 {"1.7.27", nvidia + "  options = {SystemdCgroup = \"yes\"}\n", []string{at("OptionWrongType ", stops)}},
		"a number below 0":                               {"2.4.2", nvidia + "  options = {IoUid = -1, IoGid = 0}\n", []string{at("OptionWrongType ", strings.NewReplacer("SystemdCgroup", "IoUid", "true or false", "a number of 0 or more").Replace(stops))}},
		"a boolean for the path of the default's binary": {"2.4.2", strings.Replace(nvidia, nv1, "", 1) + "\n\n  options = {BinaryName = true}\n", []string{"Error " + strings.TrimPrefix(at("OptionWrongType ", strings.NewReplacer("nvidia", "runc", "SystemdCgroup", "BinaryName", "can start;", "can start; it is the default handler: every Pod without a RuntimeClass fails on this node;", "true or false", "a string, in quotes").Replace(stops)), "Warning ")}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, findingTexts(t, test.version, map[string]string{main: test.text})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
