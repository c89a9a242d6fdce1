package config_test

import (
	"fmt"
	"os"

	"github.com/runtimegate/runtimegate/config"
)

// A dump proves what it lacks, too: the handlers that nobody will find.
func ExampleReadDump() {
	f, err := os.Open("testdata/dumps/t-v2-inline@2.4.2.toml")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	dump, err := config.ReadDump(f, "node-a.toml")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(dump.Names(), "default", dump.DefaultHandler)
	for _, name := range []string{"nvidia", "nvidia-typo"} {
		presence, _ := dump.Look(name)
		fmt.Println(name, presence)
	}
	missing, _ := config.Crosscheck(dump, []config.Want{{Handler: "nvidia-typo", By: `RuntimeClass "gpu"`}})
	fmt.Println("did you mean", missing[0].Nearest)
	// Output:
	// [nvidia runc] default runc
	// nvidia Present
	// nvidia-typo Absent
	// did you mean nvidia
}
