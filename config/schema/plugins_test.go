package schema

import (
	"reflect"
	"testing"
)

func TestPluginLists(t *testing.T) {
	for _, minor := range []string{"1.6", "1.7", "2.0", "2.1", "2.2", "2.3", "2.4"} {
		plugins, err := Plugins(minor)
		if err != nil {
			t.Errorf("%s: %v", minor, err)
			continue
		}
		cri := plugins["io.containerd.grpc.v1.cri"]
		if cri == nil || cri.Kind() != reflect.Struct || len(plugins) < 30 {
			t.Errorf("%s: %d plugins, the CRI plugin is %v", minor, len(plugins), cri)
		}
	}
	if _, err := Plugins("1.5"); err == nil {
		t.Error("there is no list for 1.5")
	}
}

func TestShapesThatAreNone(t *testing.T) {
	for _, text := range []string{"", "strin", "{a}", "{a:", "{a:string", "[]", "map x"} {
		p := parser{text: text}
		if shape, err := p.shape(); err == nil {
			t.Errorf("%q is read as %v", text, shape)
		}
	}
}
