#!/usr/bin/env bash
# Builds kube-apiserver, etcd with its etcdutl, kube-controller-manager and kubectl of one version, and the kubelet stand-in in kubelet/, from Go
# modules into a cache folder outside the repository, and prints that folder. A second call finds them and prints it at once.
# Wants: Go 1.26, the Go module proxy, about 5 GB of disk for Go's own caches.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
version=$(awk '$1 == "require" && $2 == "k8s.io/kubernetes" { print $3 }' "$here/go.mod")
out=${HOSTWARD_KUBE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/hostward/kube}/$version
bash "$here/build-own.sh" "$out"
programs=(etcd etcdutl kubectl kube-apiserver kube-controller-manager kubelet-stand-in)

missing=()
for program in "${programs[@]}"; do
  [ -x "$out/$program" ] || missing+=("$program")
done
# The one program of our own changes within a version.
sum=$(cat "$here"/kubelet/main.go "$here"/kubelet/go.sum | cksum)
if [ -x "$out/kubelet-stand-in" ] && [ "$(cat "$out/kubelet-stand-in.sum" 2>/dev/null)" != "$sum" ]; then
  missing+=(kubelet-stand-in)
fi
if [ ${#missing[@]} -eq 0 ]; then
  echo "$out"
  exit 0
fi
command -v go >/dev/null || { echo "build.sh needs Go 1.26 to build ${missing[*]}: install Go, or set KUBEBUILDER_ASSETS to a folder that holds them" >&2; exit 3; }

mkdir -p "$out"
# Whoever comes second waits for the first build instead of compiling the same programs beside it.
exec 9>"$out/.building"
if command -v flock >/dev/null; then flock 9; fi
number=${version#v}
major=${number%%.*}
rest=${number#*.}
minor=${rest%%.*}
# Without these the programs call themselves v0.0.0-master.
stamp=k8s.io/component-base/version
flags="-s -w -X $stamp.gitVersion=$version -X $stamp.gitMajor=$major -X $stamp.gitMinor=$minor -X $stamp.gitTreeState=clean"
# The programs of Kubernetes in one go: the linking of one, which takes one processor, goes on beside the compiling of another.
kubernetes=()
for program in "${missing[@]}"; do
  [[ "$program" != kube* || "$program" = kubelet-stand-in || -x "$out/$program" ]] || kubernetes+=("$program")
done
if [ ${#kubernetes[@]} -gt 0 ]; then
  echo "building ${kubernetes[*]} $version" >&2
  building=$out/.kubernetes.$$
  mkdir -p "$building"
  (cd "$here" && CGO_ENABLED=0 go build -trimpath -ldflags="$flags" -o "$building/" "${kubernetes[@]/#/k8s.io/kubernetes/cmd/}")
  for program in "${kubernetes[@]}"; do mv "$building/$program" "$out/$program"; done
  rmdir "$building"
fi
for program in "${missing[@]}"; do
  if [ "$program" != kubelet-stand-in ] && [ -x "$out/$program" ]; then continue; fi
  module=$here
  case $program in
    kubelet-stand-in) package=. module=$here/kubelet ;;
    etcd) package=go.etcd.io/etcd/server/v3 ;;
    etcdutl) package=go.etcd.io/etcd/etcdutl/v3 ;;
  esac
  echo "building $program $version" >&2
  # Built beside its place and moved: a cut build never leaves half a program behind.
  (cd "$module" && CGO_ENABLED=0 go build -trimpath -ldflags="$flags" -o "$out/.$program.$$" "$package")
  mv "$out/.$program.$$" "$out/$program"
  [ "$program" != kubelet-stand-in ] || echo "$sum" >"$out/kubelet-stand-in.sum"
done
echo "$out"
