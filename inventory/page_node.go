package inventory

import (
	"bytes"
	"errors"
	"fmt"
	"unique"

	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// The numbers of the fields that are looked at, by generated.proto of k8s.io/api and
// k8s.io/apimachinery 0.37. No number is ever given to another field.
const (
	unknownType protowire.Number = 1
	unknownRaw  protowire.Number = 2

	listMetadata protowire.Number = 1
	listItems    protowire.Number = 2

	nodeMetadata protowire.Number = 1
	nodeSpec     protowire.Number = 2
	nodeStatus   protowire.Number = 3

	metaName    protowire.Number = 1
	metaUID     protowire.Number = 5
	metaVersion protowire.Number = 6
	metaCreated protowire.Number = 8
	metaLabels  protowire.Number = 11

	labelKey   protowire.Number = 1
	labelValue protowire.Number = 2

	specTaints protowire.Number = 5

	statusAllocatable protowire.Number = 2
	statusConditions  protowire.Number = 4
	statusHandlers    protowire.Number = 12
	statusFeatures    protowire.Number = 13

	conditionType   protowire.Number = 1
	conditionStatus protowire.Number = 2
)

// protobufMagic is what a message of an API server starts with.
var protobufMagic = []byte("k8s\x00")

// nodePage reads from a page of Nodes what is used of them. Most of a Node is images,
// managed fields and addresses, and most of the rest is equal to that of others: to
// decode all was a quarter of what serve did at its start with 100,000 nodes.
func (k *keeper) nodePage(body []byte) (*corev1.NodeList, error) {
	message, found := bytes.CutPrefix(body, protobufMagic)
	if !found {
		return nil, errors.New("no Protobuf")
	}
	list, is := &corev1.NodeList{}, runtime.TypeMeta{}
	r, f := &nodeReader{kept: k}, &fields{rest: message}
	for f.next() {
		switch f.number {
		case unknownType:
			f.err = is.Unmarshal(f.value)
		case unknownRaw:
			f.err = r.list(f.value, list)
		}
	}
	if f.err != nil {
		return nil, f.err
	}
	if is.APIVersion != "v1" || is.Kind != "NodeList" {
		return nil, fmt.Errorf("got a %s of %s", is.Kind, is.APIVersion)
	}
	if list.Continue == "" {
		k.words.forget()
		k.taints.forget()
		k.rooms.forget()
		k.listed.forget()
	}
	return list, nil
}

// A nodeReader reads Nodes. The fields that are decoded as they are it copies one
// behind the other, which is a message of them alone.
type nodeReader struct {
	kept                *keeper
	meta, spec          []byte
	rooms, listed, rare []byte
	// labels is how many the node before has.
	labels int
}

func (r *nodeReader) list(message []byte, list *corev1.NodeList) error {
	f := &fields{rest: message}
	for f.next() {
		switch f.number {
		case listMetadata:
			f.err = list.ListMeta.Unmarshal(f.value)
		case listItems:
			list.Items = append(list.Items, corev1.Node{})
			f.err = r.node(f.value, &list.Items[len(list.Items)-1])
		}
	}
	return f.err
}

func (r *nodeReader) node(message []byte, to *corev1.Node) error {
	f, parts := &fields{rest: message}, [nodeStatus + 1][]byte{}
	for f.next() {
		if f.number > nodeStatus {
			continue
		}
		if parts[f.number] != nil {
			return fmt.Errorf("field %d of a Node is there twice", f.number)
		}
		parts[f.number] = f.value
	}
	if f.err != nil {
		return f.err
	}
	if err := r.metadata(parts[nodeMetadata], &to.ObjectMeta); err != nil {
		return err
	}
	if err := r.taints(parts[nodeSpec], &to.Spec); err != nil {
		return err
	}
	return r.status(parts[nodeStatus], &to.Status)
}

func (r *nodeReader) metadata(message []byte, to *metav1.ObjectMeta) (err error) {
	labels := make(map[string]string, r.labels)
	r.meta = r.meta[:0]
	f := &fields{rest: message}
	for f.next() {
		switch f.number {
		case metaName, metaUID, metaVersion, metaCreated:
			r.meta = append(r.meta, f.whole...)
		case metaLabels:
			var key, value string
			if key, value, f.err = r.pair(f.value, labelKey, labelValue); f.err == nil {
				labels[key] = value
			}
		}
	}
	if f.err != nil {
		return f.err
	}
	if err := to.Unmarshal(r.meta); err != nil {
		return fmt.Errorf("metadata of a Node: %w", err)
	}
	to.Labels, r.labels = labels, len(labels)
	return nil
}

func (r *nodeReader) taints(message []byte, to *corev1.NodeSpec) error {
	r.spec = r.spec[:0]
	f := &fields{rest: message}
	for f.next() {
		if f.number == specTaints {
			r.spec = append(r.spec, f.whole...)
		}
	}
	if f.err != nil {
		return f.err
	}
	var err error
	to.Taints, err = r.kept.taints.decoded(r.spec, func(raw []byte) ([]corev1.Taint, error) {
		var spec corev1.NodeSpec
		err := spec.Unmarshal(raw)
		return r.kept.taints.of(spec.Taints), err
	})
	return err
}

func (r *nodeReader) status(message []byte, to *corev1.NodeStatus) error {
	r.rooms, r.listed, r.rare = r.rooms[:0], r.listed[:0], r.rare[:0]
	f := &fields{rest: message}
	for f.next() {
		switch f.number {
		case statusAllocatable:
			r.rooms = append(r.rooms, f.whole...)
		case statusHandlers:
			r.listed = append(r.listed, f.whole...)
		case statusConditions:
			f.err = r.condition(f.value, to)
		case statusFeatures:
			r.rare = append(r.rare, f.whole...)
		}
	}
	if f.err != nil {
		return f.err
	}
	rare := corev1.NodeStatus{}
	if err := rare.Unmarshal(r.rare); err != nil {
		return fmt.Errorf("features of a Node: %w", err)
	}
	to.Features = rare.Features
	var err error
	to.Allocatable, err = r.kept.rooms.decoded(r.rooms, func(raw []byte) (corev1.ResourceList, error) {
		var status corev1.NodeStatus
		err := status.Unmarshal(raw)
		return r.kept.rooms.of(status.Allocatable), err
	})
	if err != nil {
		return err
	}
	to.RuntimeHandlers, err = r.kept.listed.decoded(r.listed, func(raw []byte) ([]corev1.NodeRuntimeHandler, error) {
		var status corev1.NodeStatus
		err := status.Unmarshal(raw)
		return r.kept.listed.of(status.RuntimeHandlers), err
	})
	return err
}

// condition adds a condition that is used.
func (r *nodeReader) condition(message []byte, to *corev1.NodeStatus) error {
	kind, status, err := r.pair(message, conditionType, conditionStatus)
	if err != nil {
		return err
	}
	condition := corev1.NodeCondition{Type: corev1.NodeConditionType(kind), Status: corev1.ConditionStatus(status)}
	switch condition.Type {
	case corev1.NodeReady:
	case HandlersReady:
		if err := condition.Unmarshal(message); err != nil {
			return fmt.Errorf("a condition of a Node: %w", err)
		}
	default:
		return nil
	}
	to.Conditions = append(to.Conditions, condition)
	return nil
}

// pair returns two texts of a message.
func (r *nodeReader) pair(message []byte, first, second protowire.Number) (a, b string, err error) {
	f := &fields{rest: message}
	for f.next() {
		switch f.number {
		case first:
			a, f.err = r.word(f.value)
		case second:
			b, f.err = r.word(f.value)
		}
	}
	return a, b, f.err
}

// word returns a text of which there is one copy.
func (r *nodeReader) word(raw []byte) (string, error) {
	return r.kept.words.decoded(raw, func(raw []byte) (string, error) { return unique.Make(string(raw)).Value(), nil })
}

// fields are the texts and messages among the fields of a message, one by one. What
// else there is it passes over.
type fields struct {
	rest []byte
	// number is the present one's, value what it says, and whole both as they are written.
	number       protowire.Number
	value, whole []byte
	// err ends it.
	err error
}

func (f *fields) next() bool {
	for f.err == nil && len(f.rest) > 0 {
		number, kind, tag := protowire.ConsumeTag(f.rest)
		if f.err = protowire.ParseError(min(tag, 0)); f.err != nil {
			break
		}
		length := protowire.ConsumeFieldValue(number, kind, f.rest[tag:])
		if f.err = protowire.ParseError(min(length, 0)); f.err != nil {
			break
		}
		f.number, f.whole, f.rest = number, f.rest[:tag+length], f.rest[tag+length:]
		if kind == protowire.BytesType {
			f.value, _ = protowire.ConsumeBytes(f.whole[tag:])
			return true
		}
	}
	return false
}
