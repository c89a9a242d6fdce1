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
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}

{{- define "runtimegate.serviceAccountName" -}}
{{- default (include "runtimegate.fullname" .) .Values.serviceAccount.name }}
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
{{- if not (hasKey $known .Values.reporter.distribution) }}
{{- fail (printf "reporter.distribution %q: want one of %s" .Values.reporter.distribution (keys $known | sortAlpha | compact | join ", ")) }}
{{- end }}
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
