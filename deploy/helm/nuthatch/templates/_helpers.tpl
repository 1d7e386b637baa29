{{- define "nuthatch.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 52 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "nuthatch.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "nuthatch.labels" -}}
{{ include "nuthatch.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- /* A setting as the server reads it. Numbers come as floating point: 2000000 would be written 2e+06. */}}
{{- define "nuthatch.setting" -}}
{{ if kindIs "float64" . }}{{ int64 . }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{- /* How a probe asks. One that has no certificate gets no answer where clients need one: then, is the port open? */}}
{{- define "nuthatch.probe" -}}
{{- $values := (first .).Values }}
{{- if hasKey $values.settings "NUTHATCH_TLS_CLIENT_CA" -}}
tcpSocket: {port: http}
{{- else -}}
httpGet: {path: {{ last . }}, port: http, scheme: {{ if $values.tls.existingSecret }}HTTPS{{ else }}HTTP{{ end }}}
{{- end }}
{{- end }}
