package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// HandlerFeatures are what a runtime says a handler can do.
type HandlerFeatures struct {
	RecursiveReadOnlyMounts bool
	UserNamespaces          bool
}

// A StatusAnswer is the part of the CRI answers Version and Status that tells
// about handlers, in the terms of the CRI.
type StatusAnswer struct {
	// RuntimeName and RuntimeVersion are from the answer to Version, if it was
	// asked for.
	RuntimeName    string
	RuntimeVersion string
	// Config is info["config"] of a verbose Status: JSON.
	Config string
	// Handlers are runtime_handlers, in any order; the one without a name
	// stands for the default. Containerd has them since 2.0, CRI-O since 1.30.
	Handlers []StatusHandler
}

// A StatusHandler is an entry of runtime_handlers. Features is nil when the
// runtime could not ask the handler's binary.
type StatusHandler struct {
	Name     string
	Features *HandlerFeatures
}

// A Status is what a running runtime has loaded. It is proof: a handler that is
// not in it is refused. That one which is in it can start is not proven; nobody
// looks for shims and binaries before a sandbox needs them.
type Status struct {
	// CRI holds the handlers. Their types, paths, and CDI are known from a
	// verbose Status only.
	CRI
	// RuntimeName and RuntimeVersion are those of the answer.
	RuntimeName    string
	RuntimeVersion string
	// Features of the handlers that the runtime tells them of.
	Features map[string]HandlerFeatures
	// Notes are one-line remarks for people.
	Notes []string
}

var _ Source = &Status{}

// Look says whether the running runtime has the handler. It always can tell.
func (s *Status) Look(name string) (Presence, string) {
	if _, ok := s.Handler(name); ok {
		return Present, ""
	}
	return Absent, ""
}

// NewStatus reads an answer. It is an error when the answer tells no handlers
// at all, which is not the same as having none.
func NewStatus(a StatusAnswer) (*Status, error) {
	s := &Status{RuntimeName: a.RuntimeName, RuntimeVersion: a.RuntimeVersion, Features: map[string]HandlerFeatures{}}
	configured, err := s.readConfig(a.Config)
	if err != nil {
		return nil, err
	}
	listed := map[string]Handler{}
	for _, h := range a.Handlers {
		if h.Name == "" {
			continue
		}
		handler, ok := configured[h.Name]
		if !ok {
			handler = Handler{Name: h.Name}
			if configured != nil {
				s.note("handler %q is in runtime_handlers, but not in the runtime's configuration", h.Name)
			}
		}
		listed[h.Name] = handler
		if h.Features != nil {
			s.Features[h.Name] = *h.Features
		}
	}
	if len(a.Handlers) == 0 {
		listed = configured
	}
	if listed == nil {
		return nil, errors.New("tells no handlers: a runtime without runtime_handlers (containerd before 2.0, CRI-O before 1.30) must be asked with verbose, and CRI-O 1.29 and older never tell")
	}
	for _, name := range slices.Sorted(maps.Keys(configured)) {
		if _, ok := listed[name]; !ok {
			s.note("handler %q is in the runtime's configuration, but not in runtime_handlers", name)
		}
	}
	s.Handlers = slices.AppendSeq(make([]Handler, 0, len(listed)), maps.Values(listed))
	s.Sort()
	s.noteDoubts(configured != nil)
	return s, nil
}

func (s *Status) note(format string, args ...any) {
	s.Notes = append(s.Notes, fmt.Sprintf(format, args...))
}

// noteDoubts says what the answer leaves open.
func (s *Status) noteDoubts(configured bool) {
	var untold []string
	for _, h := range s.Handlers {
		if _, ok := s.Features[h.Name]; !ok && len(s.Features) > 0 {
			untold = append(untold, h.Name)
		}
		if configured && h.RuntimeType == "" && s.RuntimeName != crioName {
			s.note("handler %q has an empty runtime type: no sandbox of it can start", h.Name)
		}
	}
	if len(untold) > 0 {
		s.note("the features of %s are not known: the runtime could not ask their binaries, which may be missing", strings.Join(untold, ", "))
	}
	if s.DefaultHandler == "" {
		s.note("the answer does not name the default handler")
	} else if _, ok := s.Handler(s.DefaultHandler); !ok {
		s.note("the default handler %q is not among the handlers", s.DefaultHandler)
	}
	if s.RuntimeName == crioName {
		// cri-o#10202; RunPodSandbox uses the copy made at the start.
		s.note("CRI-O lists a handler as soon as it has reloaded its files, but may not be able to run it before it is restarted")
	}
}

// statusText names the input of ReadStatus in errors.
var statusText = textKind{"JSON", "a CRI Status", `the JSON of a verbose CRI Status, as "crictl info" prints it`}

// A statusJSON is a StatusResponse as protobuf or Go writes it, alone, beside a
// VersionResponse, or as "crictl info" prints it, where the values of info
// stand at the top.
type statusJSON struct {
	Status        json.RawMessage            `json:"status"`
	Info          map[string]json.RawMessage `json:"info"`
	Config        json.RawMessage            `json:"config"`
	Handlers      []statusHandlerJSON        `json:"runtimeHandlers"`
	SnakeHandlers []statusHandlerJSON        `json:"runtime_handlers"`
	Conditions    json.RawMessage            `json:"conditions"`
	Version       json.RawMessage            `json:"version"`
}

// A statusHandlerJSON has its names as protobuf's JSON and Go's JSON write them.
type statusHandlerJSON struct {
	Name     string `json:"name"`
	Features *struct {
		Mounts          bool `json:"recursiveReadOnlyMounts"`
		SnakeMounts     bool `json:"recursive_read_only_mounts"`
		Namespaces      bool `json:"userNamespaces"`
		SnakeNamespaces bool `json:"user_namespaces"`
	} `json:"features"`
}

func (h statusHandlerJSON) handler() StatusHandler {
	if h.Features == nil {
		return StatusHandler{Name: h.Name}
	}
	return StatusHandler{Name: h.Name, Features: &HandlerFeatures{
		RecursiveReadOnlyMounts: h.Features.Mounts || h.Features.SnakeMounts,
		UserNamespaces:          h.Features.Namespaces || h.Features.SnakeNamespaces,
	}}
}

// ReadStatus reads the JSON of a verbose CRI Status. Name is the input's name
// in messages.
func ReadStatus(r io.Reader, name string) (*Status, error) {
	data, err := readText(r, name, statusText)
	if err != nil {
		return nil, err
	}
	var doc statusJSON
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, statusJSONError(name, data, err)
	}
	answer := StatusAnswer{}
	var version struct {
		Name         string `json:"runtimeName"`
		SnakeName    string `json:"runtime_name"`
		Version      string `json:"runtimeVersion"`
		SnakeVersion string `json:"runtime_version"`
	}
	if json.Unmarshal(doc.Version, &version) == nil {
		answer.RuntimeName = version.Name + version.SnakeName
		answer.RuntimeVersion = version.Version + version.SnakeVersion
	}
	// The response may stand below "status", whose own "status" has the
	// conditions then.
	var inner statusJSON
	if len(doc.Status) > 0 {
		if err := json.Unmarshal(doc.Status, &inner); err != nil {
			return nil, fmt.Errorf("%s: status: %w", name, err)
		}
		if inner.Conditions == nil && inner.Status != nil {
			doc = inner
		}
	}
	if doc.Status == nil {
		return nil, fmt.Errorf("%s: holds no CRI Status; expected %s", name, statusText.expected)
	}
	for _, h := range slices.Concat(doc.Handlers, doc.SnakeHandlers) {
		answer.Handlers = append(answer.Handlers, h.handler())
	}
	answer.Config = rawText(doc.Config)
	if c, ok := doc.Info["config"]; ok {
		answer.Config = rawText(c)
	}
	s, err := NewStatus(answer)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

// rawText takes JSON out of the string that the CRI puts it into.
func rawText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// statusJSONError gives an error of encoding/json its place.
func statusJSONError(name string, data []byte, err error) error {
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		// Offset counts the bytes that were read, the bad one among them.
		return posError(name, textPosition(data, min(max(int(syntax.Offset)-1, 0), len(data))), "not valid JSON: %v", err)
	case errors.As(err, &wrong):
		field := wrong.Field
		if field == "" {
			field = "the answer"
		}
		return posError(name, textPosition(data, min(int(wrong.Offset), len(data))), "%s must not be %s", field, wrong.Value)
	}
	return fmt.Errorf("%s: %w", name, err)
}
