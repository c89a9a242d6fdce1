package config

import "testing"

func TestParseRuntime(t *testing.T) {
	for text, want := range map[string]string{
		"2.4.2": "containerd 2.4.2", "v1.7.27-k3s1": "containerd 1.7.27-k3s1", "containerd://2.0.5": "containerd 2.0.5",
		"cri-o://1.33.0": "cri-o 1.33.0", "cri-o 1.37.0": "cri-o 1.37.0", "crio@1.30": "cri-o 1.30", "1.6.20~ds1-1+b1": "containerd 1.6.20~ds1-1+b1", "2.1": "containerd 2.1",
	} {
		if rt, err := ParseRuntime(text); err != nil || rt.String() != want {
			t.Errorf("ParseRuntime(%q) = %v, %v; want %s", text, rt, err, want)
		}
	}
	for _, text := range []string{"", "2", "docker://20.10.1", "2.x", "containerd", "99999.1.1"} {
		if rt, err := ParseRuntime(text); err == nil {
			t.Errorf("ParseRuntime(%q) = %v", text, rt)
		}
	}
	classes := map[string]class{
		"1.5.9": classA, "1.6.0": classA, "1.7.99": classA, "2.0.0": classB, "2.2.9": classB, "2.2": classB,
		"2.3.0": classC, "2.3.4": classC, "2.3.5": classD, "2.3": classD, "2.4.0": classD, "3.0.0": classD,
	}
	for text, want := range classes {
		if got := mustRuntime(t, text).class(); got != want {
			t.Errorf("%s is of class %v, want %v", text, got, want)
		}
	}
	for text, want := range map[string]bool{"1.6.0": false, "1.6.36": false, "2.4.9": false, "2.5.0": true, "3.1.0": true, "1.5.0": true} {
		if got := mustRuntime(t, text).note() != ""; got != want {
			t.Errorf("%s has a note: %v, want %v", text, got, want)
		}
	}
}
