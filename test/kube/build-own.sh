#!/usr/bin/env bash
# Builds our own programs in Go into the folder that is named, from the same modules as the other programs, those whose sources changed:
# the client of the management API, the consumer of slices, and the judge of histories.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$1

build() {
  local source=$1 program=$2 sum
  sum=$(cat "$here/$source"/*.go "$here/go.mod" | cksum)
  [ ! -x "$out/$program" ] || [ "$(cat "$out/$program.sum" 2>/dev/null)" != "$sum" ] || return 0
  command -v go >/dev/null || { echo "build-own.sh needs Go 1.26 to build test/kube/$source: install Go" >&2; exit 3; }
  echo "building $program" >&2
  mkdir -p "$out"
  # Built beside its place and moved: a cut build never leaves half a program behind.
  (cd "$here" && CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o "$out/.$program.$$" "./$source")
  mv "$out/.$program.$$" "$out/$program"
  echo "$sum" >"$out/$program.sum"
}

build client management-client
build consumer slice-consumer
build history management-history
