#!/usr/bin/env bash
# Builds the consumer of slices in consumer/ into the folder that is named, from the same modules as the other programs, when its
# sources changed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$1
sum=$(cat "$here"/consumer/*.go "$here/go.mod" | cksum)
[ ! -x "$out/slice-consumer" ] || [ "$(cat "$out/slice-consumer.sum" 2>/dev/null)" != "$sum" ] || exit 0
command -v go >/dev/null || { echo "build-consumer.sh needs Go 1.26 to build test/kube/consumer: install Go" >&2; exit 3; }
echo 'building the consumer of slices' >&2
mkdir -p "$out"
(cd "$here" && CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o "$out/.slice-consumer.$$" ./consumer)
mv "$out/.slice-consumer.$$" "$out/slice-consumer"
echo "$sum" >"$out/slice-consumer.sum"
