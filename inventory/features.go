package inventory

import (
	corev1 "k8s.io/api/core/v1"
)

// Features is a set of what not every runtime or handler offers.
type Features uint8

// The features that a Pod can need.
const (
	// UserNamespaces: hostUsers is false.
	UserNamespaces Features = 1 << iota
	// RecursiveReadOnlyMounts: a mount's recursiveReadOnly is Enabled.
	RecursiveReadOnlyMounts
	// SupplementalGroupsPolicy: supplementalGroupsPolicy is Strict.
	SupplementalGroupsPolicy
	// CDI: the devices of resource claims come to a container by it.
	CDI

	featuresEnd
)

// Each returns the features of the set, one by one.
func (f Features) Each() []Features {
	var each []Features
	for feature := UserNamespaces; feature < featuresEnd; feature <<= 1 {
		if f&feature != 0 {
			each = append(each, feature)
		}
	}
	return each
}

// FeaturesOf returns the features without which a Pod cannot start, or starts
// without its devices.
func FeaturesOf(spec *corev1.PodSpec) Features {
	var needs Features
	if spec.HostUsers != nil && !*spec.HostUsers {
		needs |= UserNamespaces
	}
	if sc := spec.SecurityContext; sc != nil && sc.SupplementalGroupsPolicy != nil &&
		*sc.SupplementalGroupsPolicy == corev1.SupplementalGroupsPolicyStrict {
		needs |= SupplementalGroupsPolicy
	}
	if len(spec.ResourceClaims) > 0 {
		needs |= CDI
	}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			for _, mount := range containers[i].VolumeMounts {
				if mount.RecursiveReadOnly != nil && *mount.RecursiveReadOnly == corev1.RecursiveReadOnlyEnabled {
					needs |= RecursiveReadOnlyMounts
				}
			}
		}
	}
	return needs
}

// offers is what a node or a handler says of features: those that it told of,
// and those of them that it offers.
type offers struct{ told, given Features }

// say notes what was told of a feature; nil says nothing.
func (o *offers) say(feature Features, given *bool) {
	if given == nil {
		return
	}
	o.told |= feature
	if *given {
		o.given |= feature
	}
}

// or returns o, and for what it does not tell what other tells.
func (o offers) or(other offers) offers {
	return offers{o.told | other.told, o.given | other.given&^o.told}
}
