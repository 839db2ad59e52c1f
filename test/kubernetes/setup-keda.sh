#!/usr/bin/env bash
# Fetches KEDA's Go module, at a pinned version, and prints its folder in Go's cache. Its custom
# resource definitions lie there in config/crd/bases. The first run needs Go and a module proxy.
set -euo pipefail

module=github.com/kedacore/keda/v2@v2.21.0
command -v go > /dev/null || { printf 'KEDA cannot be fetched: Go is not installed\n' >&2; exit 1; }
# Out of the tree, so that no go.mod nearby is taken into account.
folder=$(cd / && GOFLAGS=-mod=mod go mod download -json "$module" | sed -n 's/^\t"Dir": "\(.*\)",\?$/\1/p') || true
[[ -d $folder/config/crd/bases ]] || { printf 'the Go module %s cannot be fetched\n' "$module" >&2; exit 1; }
printf '%s\n' "$folder"
