// Command floor reads a review and gives a fixed answer: less no webhook can do.
package main

import (
	"io"
	"net/http"

	"github.com/runtimegate/runtimegate/e2e/peers/serving"
)

const answer = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"705ab4f5-6393-11e8-b7cc-42010a800002","allowed":true}}` + "\n"

func main() {
	flags := serving.Parse()
	serving.Fail(http.ListenAndServeTLS(flags.Address, flags.Cert(), flags.Key(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	})))
}
