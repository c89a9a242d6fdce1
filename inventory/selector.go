package inventory

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// A selector is a Pod's nodeSelector and required node affinity. It means what
// package nodeaffinity of component-helpers makes of them, which decides for the
// scheduler and the kubelet; that answers for one node only.
type selector struct {
	all []requirement
	// anyOf are the terms of the affinity, of which one must hold; affine says
	// whether there is an affinity.
	anyOf  [][]requirement
	affine bool
}

// A requirement is one that labels must meet, or the name of the node if byName.
type requirement struct {
	key      string
	byName   bool
	operator corev1.NodeSelectorOperator
	values   []string
	number   int64 // of Gt and Lt
}

// newSelector returns nil if all nodes are selected.
func newSelector(nodeSelector map[string]string, affinity *corev1.Affinity) *selector {
	s := &selector{}
	var terms []corev1.NodeSelectorTerm
	if affinity != nil && affinity.NodeAffinity != nil && affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		s.affine = true
		terms = affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	}
	size := len(nodeSelector)
	if len(terms) == 1 {
		size += len(terms[0].MatchExpressions) + len(terms[0].MatchFields)
	}
	s.all = make([]requirement, 0, size)
	for key, value := range nodeSelector {
		s.all = append(s.all, requirement{key: key, operator: corev1.NodeSelectorOpIn, values: []string{value}})
	}
	for i := range terms {
		// A term that cannot be parsed, or is empty, matches nothing.
		if len(terms) == 1 { // as nearly always: all of it must hold
			if all, ok := newTerm(s.all, &terms[i]); ok {
				s.all, s.affine = all, false
			}
		} else if term, ok := newTerm(nil, &terms[i]); ok {
			s.anyOf = append(s.anyOf, term)
		}
	}
	if len(s.all) == 0 && !s.affine {
		return nil
	}
	return s
}

// newTerm adds the requirements of a term to others.
func newTerm(others []requirement, term *corev1.NodeSelectorTerm) (all []requirement, ok bool) {
	all = slices.Grow(others, len(term.MatchExpressions)+len(term.MatchFields))
	for i := range term.MatchExpressions {
		e := &term.MatchExpressions[i]
		r := requirement{key: e.Key, operator: e.Operator, values: e.Values}
		if !r.isValid() {
			return nil, false
		}
		if r.operator == corev1.NodeSelectorOpGt || r.operator == corev1.NodeSelectorOpLt {
			r.number, _ = strconv.ParseInt(r.values[0], 10, 64)
		}
		all = append(all, r)
	}
	for i := range term.MatchFields {
		e := &term.MatchFields[i]
		if e.Operator != corev1.NodeSelectorOpIn && e.Operator != corev1.NodeSelectorOpNotIn || len(e.Values) != 1 {
			return nil, false
		}
		all = append(all, requirement{key: e.Key, byName: true, operator: e.Operator, values: e.Values})
	}
	return all, len(all) > len(others)
}

// isValid says whether the labels package accepts the requirement. Most are
// plainly right, so that it need not be asked: it takes longer than all the rest.
func (r *requirement) isValid() bool {
	var operator selection.Operator
	plain := isPlainKey(r.key) && !slices.ContainsFunc(r.values, func(value string) bool { return !isPlainValue(value) })
	switch r.operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		operator = selection.In
		plain = plain && len(r.values) > 0
	case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		operator = selection.Exists
		plain = plain && len(r.values) == 0
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		operator = selection.GreaterThan
		if plain = plain && len(r.values) == 1; plain {
			_, err := strconv.ParseInt(r.values[0], 10, 64)
			plain = err == nil
		}
	default:
		return false
	}
	if plain {
		return true
	}
	_, err := labels.NewRequirement(r.key, operator, r.values)
	return err == nil
}

// isPlainKey says whether a label's key is valid for sure: words of lower case
// letters and digits between single dots, dashes and slashes, of which there is
// one at most.
func isPlainKey(key string) bool {
	slashes, between := 0, true
	for i := range len(key) {
		switch c := key[i]; {
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
			between = false
			continue
		case between || c != '.' && c != '-' && c != '/':
			return false
		case c == '/':
			slashes++
		}
		between = true
	}
	return !between && slashes <= 1 && len(key) <= 63
}

// isPlainValue says whether a label's value is valid for sure.
func isPlainValue(value string) bool {
	between := true
	for i := range len(value) {
		switch c := value[i]; {
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9':
			between = false
		case between || c != '.' && c != '-' && c != '_':
			return false
		default:
			between = true
		}
	}
	return !between && len(value) <= 63
}

// compares says whether a number is one that Gt or Lt asks for.
func (r *requirement) compares(n int64) bool {
	return r.operator == corev1.NodeSelectorOpGt && n > r.number || r.operator == corev1.NodeSelectorOpLt && n < r.number
}

// isIn says whether the values of In or NotIn have a value.
func (r *requirement) isIn(value string) bool {
	return slices.Contains(r.values, value) == (r.operator == corev1.NodeSelectorOpIn)
}

// nameField is the only field that nodes can be selected by. Any other is empty.
const nameField = metav1.ObjectNameField
