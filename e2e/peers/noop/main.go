// Command noop is a controller-runtime webhook that lets everything pass and
// looks at nothing.
package main

import (
	"context"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/runtimegate/runtimegate/e2e/peers/serving"
)

func main() {
	flags := serving.Parse()
	log.SetLogger(logr.Discard())
	serving.Fail(flags.Webhook(&admission.Webhook{Handler: admission.HandlerFunc(func(context.Context, admission.Request) admission.Response {
		return admission.Response{AdmissionResponse: admission.Allowed("").AdmissionResponse}
	})}))
}
