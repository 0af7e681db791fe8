#!/usr/bin/env bash
# Builds the client in client/ into the folder that is named, from the same modules as the other programs, when its sources changed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$1
sum=$(cat "$here"/client/*.go "$here/go.mod" | cksum)
[ ! -x "$out/management-client" ] || [ "$(cat "$out/management-client.sum" 2>/dev/null)" != "$sum" ] || exit 0
command -v go >/dev/null || { echo "build-client.sh needs Go 1.26 to build test/kube/client: install Go" >&2; exit 3; }
echo 'building the client of the management API' >&2
mkdir -p "$out"
(cd "$here" && CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o "$out/.management-client.$$" ./client)
mv "$out/.management-client.$$" "$out/management-client"
echo "$sum" >"$out/management-client.sum"
