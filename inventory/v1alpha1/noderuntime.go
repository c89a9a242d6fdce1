package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Bounds of a NodeRuntime, as its schema has them. A publisher that has more
// findings than MaxFindings drops the least severe; handlers it never drops.
const (
	MaxHandlers = 128
	MaxFindings = 64
	MaxMessage  = 1024
)

// A NodeRuntime says what the container runtime of the node of the same name
// has loaded. The node's reporter is its only writer.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=nruntime,categories=runtimegate
// +kubebuilder:printcolumn:name="RUNTIME",type=string,JSONPath=`.spec.summary.runtime`,description="Name and version of the runtime"
// +kubebuilder:printcolumn:name="HANDLERS",type=string,JSONPath=`.spec.summary.handlers`,description="Runtime handlers that are loaded"
// +kubebuilder:printcolumn:name="DEFAULT",type=string,JSONPath=`.spec.defaultHandler`,description="Handler of Pods that name no RuntimeClass"
// +kubebuilder:printcolumn:name="FINDINGS",type=string,JSONPath=`.spec.summary.findings`,description="What is wrong or about to go wrong"
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type NodeRuntime struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the node publishes, as a whole: it is one field to server-side
	// apply, so that API servers need not follow who owns which part of it.
	// +required
	// +structType=atomic
	Spec NodeRuntimeSpec `json:"spec"`
}

// A NodeRuntimeList is a list of NodeRuntimes.
//
// +kubebuilder:object:root=true
type NodeRuntimeList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []NodeRuntime `json:"items"`
}

// NodeRuntimeSpec is what a node publishes about its container runtime.
type NodeRuntimeSpec struct {
	// runtime is the program that was asked.
	// +optional
	Runtime Runtime `json:"runtime,omitzero"`

	// defaultHandler serves Pods that name no RuntimeClass.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	DefaultHandler string `json:"defaultHandler,omitempty"`

	// handlers are the runtime handlers that are loaded, sorted by name. An
	// empty list means that nothing is known, never that there is none.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=128
	Handlers []Handler `json:"handlers,omitempty"`

	// next is what the next start of the runtime would load; absent when its
	// files cannot be read.
	// +optional
	Next *Next `json:"next,omitempty"`

	// cdi is about the Container Device Interface; absent when the runtime does
	// not tell.
	// +optional
	CDI *CDI `json:"cdi,omitempty"`

	// findings are what is wrong or about to go wrong, most severe first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Findings []Finding `json:"findings,omitempty"`

	// summary repeats the above as text, for kubectl get: a printer column shows
	// one field, and of a list no more than the first element.
	// +optional
	Summary *Summary `json:"summary,omitempty"`

	// source is where handlers was read.
	// +required
	Source Source `json:"source"`

	// observedAt is when the runtime last answered; absent when it never has.
	// +optional
	ObservedAt metav1.Time `json:"observedAt,omitzero"`

	// renewedAt is the reporter's heartbeat. When it is too old, the whole
	// object counts as unknown.
	// +required
	RenewedAt metav1.Time `json:"renewedAt"`
}

// Runtime is the program that serves the CRI on a node.
type Runtime struct {
	// name of the runtime, as containerd or cri-o.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Name string `json:"name,omitempty"`

	// version of the runtime, as it states it.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Version string `json:"version,omitempty"`

	// endpoint is the CRI socket that was asked.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Endpoint string `json:"endpoint,omitempty"`

	// startedAt is when the runtime was started.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
}

// A Handler is one runtime handler that is loaded.
type Handler struct {
	// name is what a RuntimeClass puts into its field handler. It may be a name
	// that no RuntimeClass can have.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1f\x7f]+$`
	Name string `json:"name"`

	// runtimeType names the shim, as in io.containerd.runc.v2.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	RuntimeType string `json:"runtimeType,omitempty"`

	// shim is the program that the runtime starts for a sandbox.
	// +optional
	Shim *Program `json:"shim,omitempty"`

	// binary is the OCI runtime that the shim calls.
	// +optional
	Binary *Program `json:"binary,omitempty"`

	// features are what the runtime says the handler can do; absent when it
	// does not say.
	// +optional
	Features *Features `json:"features,omitempty"`

	// origin is the file and line that defined the handler.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Origin string `json:"origin,omitempty"`
}

// A Program is a file that a handler needs in order to start a sandbox.
type Program struct {
	// path of the program on the node.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Path string `json:"path,omitempty"`

	// state says whether the program is there.
	// +required
	State ProgramState `json:"state"`
}

// ProgramState says whether a program is there.
//
// +kubebuilder:validation:Enum=Found;NotFound;NotExecutable;Unchecked
type ProgramState string

// The states of a Program.
const (
	ProgramFound         ProgramState = "Found"
	ProgramNotFound      ProgramState = "NotFound"
	ProgramNotExecutable ProgramState = "NotExecutable"
	ProgramUnchecked     ProgramState = "Unchecked"
)

// A Summary is what kubectl get shows.
type Summary struct {
	// runtime is the name and version of the runtime.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Runtime string `json:"runtime,omitempty"`

	// handlers are the names of the loaded handlers.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Handlers string `json:"handlers,omitempty"`

	// findings are the codes of the findings, without those of severity Info.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Findings string `json:"findings,omitempty"`
}

// Features are the features of a handler, as CRI RuntimeHandlerFeatures.
type Features struct {
	// recursiveReadOnlyMounts says whether the handler can make mounts read-only
	// with all below them.
	// +optional
	RecursiveReadOnlyMounts bool `json:"recursiveReadOnlyMounts"`

	// userNamespaces says whether the handler can run Pods in a user namespace.
	// +optional
	UserNamespaces bool `json:"userNamespaces"`
}

// Next is what the next start of the runtime would load. Its list is written even
// when it is empty, as are all Features, and is atomic: server-side apply makes
// null of an object whose last field goes, and drops one whose last set loses its
// last element (Kubernetes 1.37).
type Next struct {
	// handlers are the names of the runtime handlers, sorted.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MaxLength=253
	Handlers []string `json:"handlers"`

	// defaultHandler would serve Pods that name no RuntimeClass.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	DefaultHandler string `json:"defaultHandler,omitempty"`
}

// CDI is about the Container Device Interface.
type CDI struct {
	// enabled says whether the runtime injects CDI devices.
	// +required
	Enabled bool `json:"enabled"`
}

// A Finding is something that is wrong, or about to go wrong, on the node.
type Finding struct {
	// code names the kind of finding, as SectionReplaced.
	// +required
	// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]{0,63}$`
	Code string `json:"code"`

	// severity is how much harm it does.
	// +required
	Severity Severity `json:"severity"`

	// file is the path, on the node, of the file to mend.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	File string `json:"file,omitempty"`

	// line in file, counted from 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Line int32 `json:"line,omitempty"`

	// handler that the finding is about.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Handler string `json:"handler,omitempty"`

	// message says in one line what is the matter and what to do.
	// +required
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message"`
}

// Codes of findings of the reporter's own. The others are those that package
// config has for configuration files.
const (
	// FindingDumpNotProof: a handler absent from the list may be loaded all the
	// same.
	FindingDumpNotProof = "DumpNotProof"
	// FindingDefaultBroken: the default handler is not loaded or can't start, so
	// that every Pod of the node without a RuntimeClass fails.
	FindingDefaultBroken = "DefaultBroken"
	// FindingBroken: a handler is loaded, and its shim or binary is missing.
	FindingBroken = "Broken"
	// FindingExpiring: a handler is loaded, and after the next restart of the
	// runtime gone, or without what its Pods need to start.
	FindingExpiring = "Expiring"
	// FindingRestartPending: the files have what the runtime has not loaded.
	FindingRestartPending = "RestartPending"
	// FindingNextUnknown: the runtime's files can't be read.
	FindingNextUnknown = "NextUnknown"
	// FindingUnnameable: a handler is loaded whose name no RuntimeClass can have
	// and no NodeRuntime can hold.
	FindingUnnameable = "UnnameableHandler"
	// FindingRuntimeUnreachable: the runtime does not answer; all else is what it
	// said before.
	FindingRuntimeUnreachable = "RuntimeUnreachable"
	// FindingCRITooOld: the runtime speaks only a CRI that kubelets have left.
	FindingCRITooOld = "CRITooOld"
	// FindingHandlerLost: a handler was loaded, and is not since the last start of
	// the runtime.
	FindingHandlerLost = "HandlerLost"
	// FindingHandlerUnconfirmed: CRI-O lists a handler since it has read its files
	// anew; whether it can run it shows only after a restart.
	FindingHandlerUnconfirmed = "HandlerUnconfirmed"
	// FindingTooManyHandlers: more handlers are loaded than a NodeRuntime holds, so
	// that it lists none.
	FindingTooManyHandlers = "TooManyHandlers"
	// FindingRestartStorm: the runtime was started many times in a short time.
	FindingRestartStorm = "RestartStorm"
)

// FindingCodes are all of them.
var FindingCodes = []string{
	FindingDumpNotProof, FindingDefaultBroken, FindingBroken, FindingExpiring, FindingRestartPending,
	FindingNextUnknown, FindingUnnameable, FindingRuntimeUnreachable, FindingCRITooOld, FindingHandlerLost,
	FindingHandlerUnconfirmed, FindingTooManyHandlers, FindingRestartStorm,
}

// Severity is how much harm a finding does.
//
// +kubebuilder:validation:Enum=Error;Warning;Info
type Severity string

// The severities of a Finding.
const (
	SeverityError   Severity = "Error"
	SeverityWarning Severity = "Warning"
	SeverityInfo    Severity = "Info"
)

// Source is where the loaded handlers were read.
//
// +kubebuilder:validation:Enum=CRI;ConfigDump
type Source string

// The sources of a NodeRuntime.
const (
	// SourceCRI is the Status call of the running daemon.
	SourceCRI Source = "CRI"
	// SourceConfigDump is what "containerd config dump" printed: what the next
	// start would load, taken for loaded by whoever published it.
	SourceConfigDump Source = "ConfigDump"
)
