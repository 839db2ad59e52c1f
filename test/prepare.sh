#!/usr/bin/env bash
# Fetches and builds whatever the suites need beyond Node and npm, in the order in which `.ci/run` comes to them: into the cache folder, nothing is
# installed on the system. Each suite does its own part by itself where this was not run; on a fresh machine it can run behind the first suites.
# What cannot be had is told, and does not keep the rest from being made: the suite that needs it says then whether it skips or fails.
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

part test/supervisor/setup-ec2-mock.sh
part test/frameworks/setup.sh torch
part test/object-stores/setup.sh
part test/frameworks/setup.sh
part test/kubernetes/setup.sh
