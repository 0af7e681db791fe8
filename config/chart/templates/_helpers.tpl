{{- define "hostward.name" -}}
{{- $name := ternary .Release.Name (printf "%s-hostward" .Release.Name) (contains "hostward" .Release.Name) -}}
{{- $name | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "hostward.labels" -}}
app.kubernetes.io/name: hostward
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- /* The labels by which the pods of a component are found; they never change. */ -}}
{{- define "hostward.selector" -}}
app.kubernetes.io/name: hostward
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "hostward.image" -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- /* The names of the virtual cluster; without one there is nothing to sync. */ -}}
{{- define "hostward.vcluster" -}}
{{- required "sync.vcluster.name is needed: the release name of the virtual cluster's chart (helm list shows it); or set sync.enabled=false" .Values.sync.vcluster.name }}
{{- end }}

{{- define "hostward.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "hostward.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- define "hostward.placement" -}}
{{- with .Values.pullSecrets }}
imagePullSecrets: {{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}

{{- /* Whether copies live in several host namespaces. */ -}}
{{- define "hostward.isMapped" -}}
{{- if dig "namespaces" "enabled" false .Values.sync.toHost }}true{{ end }}
{{- end }}

{{- /* The configuration of the sync, as one value. */ -}}
{{- define "hostward.syncConfiguration" -}}
{{- $name := include "hostward.vcluster" . -}}
{{- $server := .Values.sync.vcluster.server | default (printf "https://%s.%s" $name .Release.Namespace) -}}
{{- $own := dict "virtualClusterName" $name "hostNamespace" .Release.Namespace "virtualKubeconfig" "/etc/hostward/virtual/config" "virtualServer" $server "listen" "0.0.0.0:9440" -}}
{{- /* With one replica too: a pod that took no lease would go on writing beside the second one. */ -}}
{{- $_ := set $own "leaderElection" "always" -}}
{{- toYaml (dict "hostward" (merge $own (deepCopy (.Values.sync.hostward | default dict))) "sync" (dict "toHost" .Values.sync.toHost)) }}
{{- end }}

{{- define "hostward.managementConfiguration" -}}
{{- $base := .Values.management.baseURL | default (printf "https://%s-management.%s.svc" (include "hostward.name" .) .Release.Namespace) -}}
{{- $own := dict "listen" "0.0.0.0:8443" "ingressListen" "0.0.0.0:9443" "baseURL" $base "dataDir" "/var/lib/hostward/management" -}}
{{- if eq .Values.management.store.type "kubernetes" }}
{{- $store := dict "namespace" (include "hostward.recordNamespace" .) -}}
{{- if .Values.management.store.kubeconfigSecret }}{{ $_ := set $store "kubeconfig" "/etc/hostward/store/config" }}{{ end -}}
{{- $_ := set $own "secretsDir" "/var/lib/hostward-secrets" -}}
{{- $_ := set $own "store" (dict "kubernetes" $store) -}}
{{- /* Pods read a changed file at different times: the newest release rules in all of them at once. */ -}}
{{- if not (hasKey (.Values.management.configuration | default dict) "generation") }}{{ $_ := set $own "generation" .Release.Revision }}{{ end -}}
{{- end -}}
{{- if .Values.management.tlsSecret }}{{ $_ := set $own "tls" (dict "certificate" "/etc/hostward/tls/tls.crt" "key" "/etc/hostward/tls/tls.key") }}{{ end -}}
{{- toYaml (dict "hostward" (dict "listen" "0.0.0.0:9440" "management" (merge $own (deepCopy (.Values.management.configuration | default dict))))) }}
{{- end }}

{{- /* Helm takes over an object with these marks that somebody has made from this template before: with cluster=false an administrator may be first. */ -}}
{{- define "hostward.adopted" -}}
meta.helm.sh/release-name: {{ .Release.Name | quote }}
meta.helm.sh/release-namespace: {{ .Release.Namespace | quote }}
{{- end }}

{{- define "hostward.recordNamespace" -}}
{{- .Values.management.store.namespace | default (printf "%s-records" .Release.Namespace | trunc 63 | trimSuffix "-") }}
{{- end }}

{{- /* Whether the records lie in the cluster of this release, whose objects the chart can make. */ -}}
{{- define "hostward.storesHere" -}}
{{- if and .Values.management.enabled (eq .Values.management.store.type "kubernetes") (not .Values.management.store.kubeconfigSecret) }}true{{ end }}
{{- end }}

{{- /* Refuses what cannot work, before a pod finds out. */ -}}
{{- define "hostward.checkedManagement" -}}
{{- $m := .Values.management -}}
{{- if eq $m.store.type "sqlite" -}}
{{- if gt (int $m.replicas) 1 }}
{{- fail (printf "management.replicas is %d, and a database file serves one process: set management.store.type=kubernetes, or management.replicas=1" (int $m.replicas)) }}
{{- end }}
{{- else -}}
{{- if eq (include "hostward.recordNamespace" .) .Release.Namespace }}
{{- fail (printf "management.store.namespace is the namespace of the release, %s, whose other Secrets would lie between the records: name one of its own" .Release.Namespace) }}
{{- end }}
{{- if and (gt (int $m.replicas) 1) (not $m.secrets.existingSecret) (ne $m.secrets.volume.accessMode "ReadWriteMany") }}
{{- fail (printf "management.secrets.volume.accessMode is %s, and %d replicas share that volume: set it to ReadWriteMany, or set management.secrets.existingSecret" $m.secrets.volume.accessMode (int $m.replicas)) }}
{{- end }}
{{- if and (include "hostward.storesHere" .) .Values.cluster $m.store.policy (not (semverCompare ">=1.31.0-0" .Capabilities.KubeVersion.Version)) }}
{{- fail (printf "management.store.policy wants Kubernetes 1.31 or newer, found %s: set it to false" .Capabilities.KubeVersion.Version) }}
{{- end }}
{{- end -}}
{{- end }}
