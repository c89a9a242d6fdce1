{{- define "runtimegate.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 54 | trimSuffix "-" }}
{{- end }}

{{/* 54 characters leave room for "-reporter" in the 63 of a label. */}}
{{- define "runtimegate.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 54 | trimSuffix "-" }}
{{- else }}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 54 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 54 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{- define "runtimegate.chart" -}}
{{- printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "runtimegate.selectorLabels" -}}
app.kubernetes.io/name: {{ include "runtimegate.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "runtimegate.labels" -}}
helm.sh/chart: {{ include "runtimegate.chart" . }}
{{ include "runtimegate.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "runtimegate.image" -}}
{{- with .Values.image }}
{{- if .digest }}
{{- printf "%s@%s" .repository .digest }}
{{- else }}
{{- printf "%s:%s" .repository (default $.Chart.AppVersion .tag) }}
{{- end }}
{{- end }}
{{- end }}

{{- define "runtimegate.serviceAccountName" -}}
{{- default (include "runtimegate.fullname" .) .Values.serviceAccount.name }}
{{- end }}

{{- define "runtimegate.service" -}}
{{- printf "%s-webhook" (include "runtimegate.fullname" .) }}
{{- end }}

{{/*
The namespaces that the webhook is not asked about, as JSON: with failurePolicy
Fail and no replica up, what brings the cluster and runtimegate back must pass.
*/}}
{{- define "runtimegate.exemptNamespaces" -}}
{{- concat (list "kube-system" "kube-node-lease" .Release.Namespace) .Values.exemptNamespaces | uniq | toJson }}
{{- end }}

{{/*
Not one name for both: the Secret that cert-manager has made stays, and is none
that serve would write to.
*/}}
{{- define "runtimegate.certificates.secretName" -}}
{{- $suffix := ternary "cert-manager" "cert" (eq .Values.certificates.mode "CertManager") }}
{{- default (printf "%s-%s" (include "runtimegate.fullname" .) $suffix) .Values.certificates.secretName }}
{{- end }}

{{/* The names by which API servers call, as JSON. */}}
{{- define "runtimegate.certificates.hosts" -}}
{{- $hosts := list (printf "%s.%s.svc" (include "runtimegate.service" .) .Release.Namespace) }}
{{- with .Values.webhook.url.host }}
{{- $hosts = append $hosts (urlParse (printf "https://%s" .)).hostname }}
{{- end }}
{{- toJson $hosts }}
{{- end }}

{{- define "runtimegate.reporter.fullname" -}}
{{- printf "%s-reporter" (include "runtimegate.fullname" .) }}
{{- end }}

{{- define "runtimegate.reporter.serviceAccountName" -}}
{{- default (include "runtimegate.reporter.fullname" .) .Values.reporter.serviceAccount.name }}
{{- end }}

{{/*
The folders of the node that the reporter reads, as JSON. The first of a
distribution is that of its socket, which the runtime makes anew at every start.
That one must be there; a runtime may do without the others, and if they come
later they are to be seen.
*/}}
{{- define "runtimegate.reporter.hostPaths" -}}
{{- $known := dict
  "" (list)
  "containerd" (list "/run/containerd" "/etc/containerd")
  "cri-o" (list "/run/crio" "/etc/crio")
  "k3s" (list "/run/k3s/containerd" "/var/lib/rancher/k3s/agent/etc/containerd")
  "rke2" (list "/run/k3s/containerd" "/var/lib/rancher/rke2/agent/etc/containerd")
  "microk8s" (list "/var/snap/microk8s/common/run" "/var/snap/microk8s/current/args")
  "k0s" (list "/run/k0s" "/etc/k0s")
-}}
{{- $paths := list }}
{{- if .Values.reporter.hostRoot }}
{{- $paths = append $paths (dict "path" "/" "type" "Directory") }}
{{- else }}
{{- range $i, $path := get $known .Values.reporter.distribution }}
{{- $paths = append $paths (dict "path" $path "type" (ternary "Directory" "DirectoryOrCreate" (eq $i 0))) }}
{{- end }}
{{- range .Values.reporter.extraHostPaths }}
{{- $paths = append $paths (dict "path" . "type" "Directory") }}
{{- end }}
{{- end }}
{{- toJson $paths }}
{{- end }}
