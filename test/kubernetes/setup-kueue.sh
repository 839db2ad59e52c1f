#!/usr/bin/env bash
# Builds Kueue's manager once, at a pinned version, and prints the folder that holds the program
# (`kueue`) and its manifests (`config`). The folder lies in a cache outside the tree. The first run
# needs Go and a module proxy, and takes minutes on two cores. With `--find` nothing is built.
set -euo pipefail

module=sigs.k8s.io/kueue
version=v0.18.2
folder="${HOLDFAST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/holdfast}/kueue-$version"

if [[ ! -e $folder/complete ]]; then
  [[ ${1:-} != --find ]] || { printf 'Kueue is not built yet: test/kubernetes/setup-kueue.sh builds it\n' >&2; exit 1; }
  command -v go > /dev/null || { printf 'Kueue is not built, and Go is not installed\n' >&2; exit 1; }
  mkdir -p "$folder"
  # The lock makes two tests that start at the same time build once.
  exec 9> "$folder/.lock"
  flock 9
fi
if [[ ! -e $folder/complete ]]; then
  printf 'building Kueue %s\n' "$version" >&2
  # Out of the tree, so that no go.mod nearby is taken into account.
  cd /
  source="$(GOFLAGS=-mod=mod go mod download -json "$module@$version" | sed -n 's/^\t"Dir": "\(.*\)",\?$/\1/p')"
  [[ -d $source/cmd/kueue ]] || { printf 'the Go module %s@%s cannot be fetched\n' "$module" "$version" >&2; exit 1; }
  # From the sources of the release, with the versions that it pins. `complete` is written last, so
  # that a killed build never looks complete.
  (cd "$source" && CGO_ENABLED=0 GOWORK=off GOFLAGS=-mod=readonly nice go build -p 2 -trimpath -o "$folder/kueue.unfinished" ./cmd/kueue)
  mv "$folder/kueue.unfinished" "$folder/kueue"
  # The module cache is read-only, and may be cleaned.
  rm -rf "$folder/config"
  cp -r --no-preserve=mode "$source/config" "$folder/config"
  touch "$folder/complete"
fi
printf '%s\n' "$folder"
