// The CustomResourceDefinitions of others that objects of the chart are made of:
// real ones, which the modules carry. helm_test.go reads them; nothing is compiled.
module github.com/runtimegate/runtimegate/e2e/chart/crds

go 1.26.0

require (
	github.com/cert-manager/cert-manager v1.21.2
	github.com/prometheus-operator/prometheus-operator v0.85.0
)
