package webhook

import (
	"bytes"
	"errors"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// The types below read their JSON themselves: to keep little of it, and to
// allocate little.
var (
	_ json.UnmarshalerFrom = &unread{}
	_ json.UnmarshalerFrom = &podParts{}
	_ json.UnmarshalerFrom = &annotations{}
	_ json.UnmarshalerFrom = &recursiveMounts{}
	_ json.UnmarshalerFrom = &quantities{}
)

var errNotPlain = errors.New("not as the API server writes it")

// unread is a value that is passed over.
type unread struct{}

// UnmarshalJSONFrom implements json.UnmarshalerFrom. ReadValue takes half the time
// of SkipValue, which gives out each token.
func (*unread) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	_, err := dec.ReadValue()
	return err
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom: it notes that there is an
// object.
func (p *podParts) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	type fields podParts
	p.given = dec.PeekKind() != 'n'
	return json.UnmarshalDecode(dec, (*fields)(p))
}

// annotations are those that are read.
type annotations map[string]string

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (a *annotations) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	return eachMember(dec, func(quoted jsontext.Value) error {
		name := ""
		switch string(quoted) {
		case `"` + corev1.MirrorPodAnnotationKey + `"`:
			name = corev1.MirrorPodAnnotationKey
		case `"` + UntrustedAnnotation + `"`:
			name = UntrustedAnnotation
		default:
			return dec.SkipValue()
		}
		var value string
		if err := json.UnmarshalDecode(dec, &value); err != nil {
			return err
		}
		if *a == nil {
			*a = annotations{}
		}
		(*a)[name] = value
		return nil
	})
}

// recursiveMounts are the mounts that say something of recursiveReadOnly: few of
// many, as a rule.
type recursiveMounts []corev1.VolumeMount

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (m *recursiveMounts) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '[' {
		return readNull(dec)
	}
	var part struct {
		RecursiveReadOnly *corev1.RecursiveReadOnlyMode `json:"recursiveReadOnly"`
	}
	_, err := dec.ReadToken()
	for err == nil && dec.PeekKind() != ']' {
		part.RecursiveReadOnly = nil
		if err = json.UnmarshalDecode(dec, &part); err == nil && part.RecursiveReadOnly != nil {
			*m = append(*m, corev1.VolumeMount{RecursiveReadOnly: part.RecursiveReadOnly})
		}
	}
	if err == nil {
		_, err = dec.ReadToken()
	}
	return err
}

// quantities are a corev1.ResourceList.
type quantities []quantityPart

type quantityPart struct {
	name     corev1.ResourceName
	quantity resource.Quantity
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (q *quantities) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	return eachMember(dec, func(quoted jsontext.Value) error {
		var part quantityPart
		switch string(quoted) {
		case `"cpu"`:
			part.name = corev1.ResourceCPU
		case `"memory"`:
			part.name = corev1.ResourceMemory
		default:
			part.name = corev1.ResourceName(quoted[1 : len(quoted)-1])
		}
		value, err := dec.ReadValue()
		if err != nil {
			return err
		}
		if err := part.quantity.UnmarshalJSON(value); err != nil {
			return err
		}
		if *q == nil {
			*q = make(quantities, 0, 2)
		}
		*q = append(*q, part)
		return nil
	})
}

func (q quantities) list() corev1.ResourceList {
	if len(q) == 0 {
		return nil
	}
	list := make(corev1.ResourceList, len(q))
	for i := range q {
		list[q[i].name] = q[i].quantity
	}
	return list
}

// cover says whether q has all the names of others.
func (q quantities) cover(others quantities) bool {
	for i := range others {
		if !slices.ContainsFunc(q, func(part quantityPart) bool { return part.name == others[i].name }) {
			return false
		}
	}
	return true
}

// eachMember calls do with each name of an object, to read the value; null has
// none. Names with escapes in them are refused.
func eachMember(dec *jsontext.Decoder, do func(quoted jsontext.Value) error) error {
	if dec.PeekKind() != '{' {
		return readNull(dec)
	}
	_, err := dec.ReadToken()
	for err == nil && dec.PeekKind() != '}' {
		var name jsontext.Value
		if name, err = dec.ReadValue(); err != nil {
			break
		}
		if bytes.IndexByte(name, '\\') >= 0 {
			return errNotPlain
		}
		err = do(name)
	}
	if err == nil {
		_, err = dec.ReadToken()
	}
	return err
}

// readNull reads null, and gives an error for all else.
func readNull(dec *jsontext.Decoder) error {
	value, err := dec.ReadValue()
	if err == nil && value.Kind() != 'n' {
		err = errNotPlain
	}
	return err
}
