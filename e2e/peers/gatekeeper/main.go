// Command gatekeeper is Gatekeeper's constraint client with its CEL driver and one
// constraint, behind a controller-runtime webhook. It is less than Gatekeeper's own
// webhook does, which also looks up the namespace and expands workloads.
package main

import (
	"context"
	_ "embed"
	"net/http"
	"strings"

	"github.com/go-logr/logr"
	"github.com/open-policy-agent/frameworks/constraint/pkg/apis"
	constraintclient "github.com/open-policy-agent/frameworks/constraint/pkg/client"
	"github.com/open-policy-agent/frameworks/constraint/pkg/client/reviews"
	"github.com/open-policy-agent/gatekeeper/v3/pkg/drivers/k8scel"
	"github.com/open-policy-agent/gatekeeper/v3/pkg/gator/reader"
	mutationtypes "github.com/open-policy-agent/gatekeeper/v3/pkg/mutation/types"
	"github.com/open-policy-agent/gatekeeper/v3/pkg/target"
	"github.com/open-policy-agent/gatekeeper/v3/pkg/util"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	"github.com/runtimegate/runtimegate/e2e/peers/serving"
)

//go:embed template.yaml
var template []byte

//go:embed constraint.yaml
var constraint []byte

func main() {
	flags := serving.Parse()
	log.SetLogger(logr.Discard())
	client, err := newClient(context.Background())
	if err != nil {
		serving.Fail(err)
	}
	serving.Fail(flags.Webhook(&admission.Webhook{Handler: &handler{client}}))
}

func newClient(ctx context.Context) (*constraintclient.Client, error) {
	driver, err := k8scel.New()
	if err != nil {
		return nil, err
	}
	client, err := constraintclient.NewClient(
		constraintclient.Targets(&target.K8sValidationTarget{}),
		constraintclient.EnforcementPoints(util.WebhookEnforcementPoint),
		constraintclient.Driver(driver),
	)
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := apis.AddToScheme(scheme); err != nil {
		return nil, err
	}
	object, limit := &unstructured.Unstructured{}, &unstructured.Unstructured{}
	if err := yaml.Unmarshal(template, object); err != nil {
		return nil, err
	}
	if err := yaml.Unmarshal(constraint, limit); err != nil {
		return nil, err
	}
	made, err := reader.ToTemplate(scheme, object)
	if err != nil {
		return nil, err
	}
	if _, err := client.AddTemplate(ctx, made); err != nil {
		return nil, err
	}
	_, err = client.AddConstraint(ctx, limit)
	return client, err
}

type handler struct{ client *constraintclient.Client }

// namespace stands for the one that Gatekeeper looks up in its cache.
var namespace = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "bench"}}

// Handle implements admission.Handler.
func (h *handler) Handle(ctx context.Context, req admission.Request) admission.Response {
	answers, err := h.client.Review(ctx, &target.AugmentedReview{
		AdmissionRequest: &req.AdmissionRequest, Namespace: namespace, Source: mutationtypes.SourceTypeOriginal, IsAdmission: true,
	}, reviews.EnforcementPoint(util.WebhookEnforcementPoint))
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	var denials []string
	for _, result := range answers.Results() {
		denials = append(denials, result.Msg)
	}
	if len(denials) > 0 {
		return admission.Denied(strings.Join(denials, "\n"))
	}
	return admission.Allowed("")
}
