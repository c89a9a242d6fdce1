package main

import (
	"flag"
	"fmt"
	"strings"
	"syscall"
)

// mount is as much of mount(8) as a kubelet needs for the tokens and Secrets of
// Pods: mount -t TYPE -o OPTIONS SOURCE TARGET.
func mount(args []string) error {
	flags := flag.NewFlagSet("mount", flag.ContinueOnError)
	kind := flags.String("t", "", "type of the file system")
	options := flags.String("o", "", "its options")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *kind == "" || flags.NArg() != 2 {
		return fmt.Errorf("mount %q: want -t TYPE, SOURCE and TARGET", args)
	}
	return syscall.Mount(flags.Arg(0), flags.Arg(1), *kind, 0, strings.TrimPrefix(*options, "defaults,"))
}

// umount is umount(8): umount TARGET.
func umount(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("umount %q: want a TARGET", args)
	}
	return syscall.Unmount(args[0], 0)
}
