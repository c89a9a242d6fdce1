package webhook

import (
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var discard = logr.Discard()

// A denial is one line, with nothing of the object but its name. What passes is
// none.
func TestDenialsAreLogged(t *testing.T) {
	dry := true
	podOf := func(object string, change func(*admissionv1.AdmissionRequest)) *admissionv1.AdmissionRequest {
		req := &admissionv1.AdmissionRequest{
			Kind: metav1.GroupVersionKind{Version: "v1", Kind: "Pod"}, Namespace: "ml", Name: "train",
			UserInfo: authenticationv1.UserInfo{Username: "ann", Groups: []string{"secret-group"}},
		}
		req.Object.Raw = []byte(object)
		if change != nil {
			change(req)
		}
		return req
	}
	unnamed := func(req *admissionv1.AdmissionRequest) { req.Name = "" }
	missing := Finding{Condition: Missing, Action: Deny, Handler: "nvidia", Message: "secret-message"}
	tests := map[string]struct {
		request  *admissionv1.AdmissionRequest
		findings []Finding
		want     []string
	}{
		"a Pod that passes":          {podOf(`{}`, nil), nil, nil},
		"a Pod that is warned of":    {podOf(`{}`, nil), []Finding{{Condition: Partial, Action: Warn}}, nil},
		"a Pod that only is audited": {podOf(`{}`, nil), []Finding{{Condition: Missing, Action: Audit}}, nil},
		"a denied Pod": {podOf(`{"spec": "secret-body"}`, nil), []Finding{missing, {Condition: Oversized, Action: Warn, Handler: "nvidia"}}, []string{
			`{"logger":"webhook","level":0,"msg":"Denied","kind":"Pod","namespace":"ml","name":"train","condition":"Missing","handler":"nvidia","policy":"","user":"ann","dryRun":false}`}},
		"for several reasons": {podOf(`{}`, func(req *admissionv1.AdmissionRequest) { req.DryRun = &dry }), []Finding{
			missing, {Condition: Forbidden, Action: Deny, Handler: "nvidia", Policy: "b"}, {Condition: Forbidden, Action: Deny, Handler: "nvidia", Policy: "a"}}, []string{
			`{"logger":"webhook","level":0,"msg":"Denied","kind":"Pod","namespace":"ml","name":"train","condition":"Forbidden,Missing","handler":"nvidia","policy":"a,b","user":"ann","dryRun":true}`}},
		"whose name comes later": {podOf(`{"metadata": {"generateName": "train-7d9f-"}, "spec": "secret-body"}`, unnamed), []Finding{missing}, []string{
			`{"logger":"webhook","level":0,"msg":"Denied","kind":"Pod","namespace":"ml","name":"train-7d9f-*","condition":"Missing","handler":"nvidia","policy":"","user":"ann","dryRun":false}`}},
		"of no name at all": {podOf(`no JSON`, unnamed), []Finding{missing}, []string{
			`{"logger":"webhook","level":0,"msg":"Denied","kind":"Pod","namespace":"ml","name":"","condition":"Missing","handler":"nvidia","policy":"","user":"ann","dryRun":false}`}},
		"a name with a line break": {podOf(`{}`, func(req *admissionv1.AdmissionRequest) { req.UserInfo.Username = "a\n{\"msg\":\"Denied\"}" }), []Finding{missing}, []string{
			`{"logger":"webhook","level":0,"msg":"Denied","kind":"Pod","namespace":"ml","name":"train","condition":"Missing","handler":"nvidia","policy":"","user":"a\n{\"msg\":\"Denied\"}","dryRun":false}`}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			log := funcr.NewJSON(func(line string) { got = append(got, line) }, funcr.Options{}).WithName("webhook")
			record("pods", log)(tt.request, Verdict{Findings: tt.findings})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}
