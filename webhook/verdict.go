package webhook

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxWarning is the longest text of a warning, in bytes: the API server may cut
// longer ones (k8s.io/api/admission/v1, AdmissionResponse.Warnings).
const MaxWarning = 256

// A Finding is one condition that holds, what is done about it, and how it is
// told.
type Finding struct {
	Condition Condition
	Action    Action
	// Handler is the one that the condition is about; empty: the default handler,
	// or none that is known.
	Handler string
	// Policy is the RuntimePolicy that forbids it, if one does.
	Policy string
	// Message is one line for people, MaxWarning bytes at most.
	Message string
	// Detail holds all that the message has no room for.
	Detail string
}

// A Verdict is the answer about one object: all findings, strictest first. No
// findings: all is well.
type Verdict struct {
	Findings []Finding
}

// Action is the strictest action of the findings.
func (v *Verdict) Action() Action {
	action := Allow
	for i := range v.Findings {
		action = max(action, v.Findings[i].Action)
	}
	return action
}

// add puts a finding in its place; nil adds nothing.
func (v *Verdict) add(f *Finding) {
	if f == nil {
		return
	}
	f.Message, f.Detail = shorten(printable(f.Message)), printable(f.Detail)
	at := 0
	for at < len(v.Findings) && v.Findings[at].Action >= f.Action {
		at++
	}
	v.Findings = slices.Insert(v.Findings, at, *f)
}

// capAt lowers every action to at most the given one.
func (v *Verdict) capAt(most Action) {
	for i := range v.Findings {
		v.Findings[i].Action = min(v.Findings[i].Action, most)
	}
}

// Denial is the text of a rejection: the messages of all findings that deny.
func (v *Verdict) Denial() string {
	return strings.Join(v.messages(Deny), "; ")
}

// Warnings are the messages of all findings that warn.
func (v *Verdict) Warnings() []string {
	return v.messages(Warn)
}

func (v *Verdict) messages(action Action) []string {
	var messages []string
	for i := range v.Findings {
		if v.Findings[i].Action == action {
			messages = append(messages, v.Findings[i].Message)
		}
	}
	return messages
}

// AuditAnnotations are what the API server's audit log keeps of the verdict;
// nil when there is nothing to keep. The API server puts the webhook's name and a
// slash in front of the keys, and drops one that has a slash of its own (1.37).
func (v *Verdict) AuditAnnotations() map[string]string {
	if v.Action() == Allow {
		return nil
	}
	var conditions, details []string
	for i := range v.Findings {
		conditions = append(conditions, string(v.Findings[i].Condition))
		details = append(details, v.Findings[i].Detail)
	}
	return map[string]string{
		"condition": strings.Join(conditions, ","),
		"detail":    strings.Join(details, "; "),
	}
}

// printable makes control characters visible: kubectl gets no warning at all
// that has one (net/http headers), and a terminal would obey those of a denial.
func printable(text string) string {
	for i := range len(text) {
		if b := text[i]; b < ' ' || b > '~' {
			return strings.Map(shown, text)
		}
	}
	return text
}

func shown(r rune) rune {
	if unicode.IsControl(r) || r == utf8.RuneError {
		return '?'
	}
	return r
}

// shorten cuts a message at MaxWarning bytes, between words, so that no name is
// cut; a single word of that length between characters.
func shorten(message string) string {
	if len(message) <= MaxWarning {
		return message
	}
	const ellipsis = "…"
	end := MaxWarning - len(ellipsis)
	for end > 0 && !utf8.RuneStart(message[end]) {
		end--
	}
	if space := strings.LastIndexByte(message[:end], ' '); space > 0 {
		end = space
	}
	return message[:end] + ellipsis
}
