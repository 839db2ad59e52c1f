#!/usr/bin/env bash
# Puts the programs that ship and fetch are measured against into a cache outside of the tree, once, at pinned versions: rclone and s5cmd as Go
# modules, the AWS command line from PyPI. Prints `name=path` for each that could be had, `name!reason` for the others.
set -uo pipefail

home="${HOLDFAST_CACHE:-$HOME/.cache/holdfast}/copiers"
mkdir -p "$home"

# name, module, version
modules=(
  'rclone github.com/rclone/rclone v1.75.1'
  's5cmd github.com/peak/s5cmd/v2 latest'
)
aws_version=1.46.2

for entry in "${modules[@]}"; do
  read -r name module version <<<"$entry"
  if [[ ! -x "$home/$name" ]]; then
    # Out of the tree, so that no go.mod nearby is taken into account.
    if ! log=$(cd / && GOBIN="$home" GOFLAGS=-mod=mod nice go install "$module@$version" 2>&1); then
      printf '%s!could not be had here: %s\n' "$name" "$(tail -n 1 <<<"$log" | tr -d '\t')"
      continue
    fi
  fi
  printf '%s=%s\n' "$name" "$home/$name"
done

if [[ ! -e "$home/aws-$aws_version/complete" ]]; then
  rm -rf "$home/aws-$aws_version"
  if ! log=$(python3 -m venv "$home/aws-$aws_version" 2>&1 && "$home/aws-$aws_version/bin/pip" install --quiet "awscli==$aws_version" 2>&1); then
    printf 'aws!could not be had here: %s\n' "$(tail -n 1 <<<"$log")"
    exit 0
  fi
  touch "$home/aws-$aws_version/complete"
fi
printf 'aws=%s\n' "$home/aws-$aws_version/bin/aws"
