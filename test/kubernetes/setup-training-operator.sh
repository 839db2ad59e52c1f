#!/usr/bin/env bash
# Builds the Training Operator once, at a pinned version, and prints the folder that holds the
# program (`training-operator`), its manifests (`manifests`), and the PodGroup of scheduler-plugins
# (`podgroups.yaml`). The folder lies in a cache outside
# the tree. The first run needs Go and a module proxy, and takes minutes on two cores. With `--find`
# nothing is built.
set -euo pipefail

module=github.com/kubeflow/training-operator
version=v1.9.4
folder="${HOLDFAST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/holdfast}/training-operator-$version"

if [[ ! -e $folder/complete ]]; then
  [[ ${1:-} != --find ]] || { printf 'the Training Operator is not built yet: test/kubernetes/setup-training-operator.sh builds it\n' >&2; exit 1; }
  command -v go > /dev/null || { printf 'the Training Operator is not built, and Go is not installed\n' >&2; exit 1; }
  mkdir -p "$folder"
  # The lock makes two tests that start at the same time build once.
  exec 9> "$folder/.lock"
  flock 9
fi
if [[ ! -e $folder/complete ]]; then
  printf 'building the Training Operator %s\n' "$version" >&2
  # Out of the tree, so that no go.mod nearby is taken into account. `complete` is written last, so
  # that a killed build never looks complete.
  cd /
  GOBIN="$folder/unfinished" GOFLAGS=-mod=mod CGO_ENABLED=0 nice go install -trimpath "$module/cmd/training-operator.v1@$version"
  mv "$folder/unfinished/training-operator.v1" "$folder/training-operator"
  rmdir "$folder/unfinished"
  # The module cache is read-only, and may be cleaned.
  source="$(go list -m -f '{{.Dir}}' "$module@$version")"
  rm -rf "$folder/manifests"
  cp -r --no-preserve=mode "$source/manifests" "$folder/manifests"
  plugins="$(awk '$1 == "sigs.k8s.io/scheduler-plugins" { print $1 "@" $2 }' "$source/go.mod")"
  cp --no-preserve=mode "$(go list -m -f '{{.Dir}}' "$plugins")/config/crd/bases/scheduling.x-k8s.io_podgroups.yaml" "$folder/podgroups.yaml"
  touch "$folder/complete"
fi
printf '%s\n' "$folder"
