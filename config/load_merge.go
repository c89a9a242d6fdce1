package config

import (
	"slices"

	"github.com/runtimegate/runtimegate/config/schema"
)

// mergeTop merges what containerd merges of a file's top level and what
// matters here: a zero value never overrides, lists are appended, maps are
// merged by key with their values replaced whole. Plugins are the caller's.
func mergeTop[P any](dst, src *schema.File[P], appendList func(dst, src []string) []string) {
	overlay(&dst.Version, src.Version)
	overlay(&dst.Root, src.Root)
	overlay(&dst.State, src.State)
	overlay(&dst.GRPC.Address, src.GRPC.Address)
	overlay(&dst.Debug.Level, src.Debug.Level)
	overlay(&dst.Debug.Format, src.Debug.Format)
	dst.DisabledPlugins = appendList(dst.DisabledPlugins, src.DisabledPlugins)
	dst.RequiredPlugins = appendList(dst.RequiredPlugins, src.RequiredPlugins)
	dst.ProxyPlugins = mergeMap(dst.ProxyPlugins, src.ProxyPlugins)
	dst.Timeouts = mergeMap(dst.Timeouts, src.Timeouts)
}

func overlay[T comparable](dst *T, src T) {
	var zero T
	if src != zero {
		*dst = src
	}
}

func mergeMap[V any](dst, src map[string]V) map[string]V {
	if dst == nil {
		return src
	}
	for k, v := range src {
		dst[k] = v
	}
	return dst
}

// appendAll is how containerd 1.x joins lists.
func appendAll(dst, src []string) []string { return append(dst, src...) }

// appendNew is how containerd 2.x joins them: no value twice. Into no list at
// all it copies without looking.
func appendNew(dst, src []string) []string {
	if dst == nil {
		return src
	}
	for _, s := range src {
		if !slices.Contains(dst, s) {
			dst = append(dst, s)
		}
	}
	return dst
}

// deepMerge merges tables as containerd 2.x does: tables field by field, and
// everything else, arrays, false, 0 and "" included, is replaced by src. An
// empty table replaces only what is not a table. dst may share tables with src
// afterwards.
func deepMerge(dst, src map[string]any) {
	for k, v := range src {
		table, ok := v.(map[string]any)
		if old, isTable := dst[k].(map[string]any); ok && isTable && len(old) > 0 {
			deepMerge(old, table)
			continue
		}
		dst[k] = v
	}
}

// cloneTable copies tables deeply, so that a migration can change them.
func cloneTable(m map[string]any) map[string]any {
	if m == nil {
		return nil
	}
	c := make(map[string]any, len(m))
	for k, v := range m {
		if t, ok := v.(map[string]any); ok {
			v = cloneTable(t)
		}
		c[k] = v
	}
	return c
}
