#!/usr/bin/env bash
# Fetches and builds whatever the suites need beyond Node and npm, in the order in which `.ci/run`
# comes to them, into the cache folder; nothing is installed on the system. A suite makes its own
# part where this was not run, and waits for it where it is being made. What cannot be had is
# reported and does not keep the rest from being made: the suite that needs it then says whether it
# skips or fails.
set -uo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

part() {
  local start=$SECONDS
  if "$@" >&2; then
    printf 'prepare: %5d s  %s\n' $((SECONDS - start)) "$*"
  else
    printf 'prepare: failed with %d after %d s: %s\n' $? $((SECONDS - start)) "$*"
  fi
}

# Go's compilers take a tenth less time when they collect garbage less often.
export GOGC=400

part test/frameworks/setup.sh torch
# The one is fetched while the other is compiled.
part test/frameworks/setup.sh &
part test/kubernetes/setup.sh
part test/kubernetes/setup-helm.sh
part test/kubernetes/setup-training-operator.sh
part test/supervisor/setup-ec2-mock.sh
part test/object-stores/setup.sh
part test/queue/setup-postgres.sh
part test/kubernetes/setup-keda.sh
wait
