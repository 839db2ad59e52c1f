#!/usr/bin/env bash
# Seals saves of real frameworks, kills the next save half-way, and asks what to resume from. Needs
# only Node and this repository.
set -e; cd "$(dirname "$0")/checkpoints"; PATH="$PWD/../../bin:$PATH"; run=$(mktemp -d); trap 'rm -r "$run"' EXIT
cp -r trainer-run/checkpoint-2 "$run"    # safetensors and torch.save, as the Hugging Face Trainer wrote them
cp whole/lightning/*.ckpt "$run"         # torch.save, as Lightning wrote it
holdfast seal "$run"/*
mkdir "$run/checkpoint-6"
{ head -c 9000 trainer-run/checkpoint-2/optimizer.pt; exec sleep 60; } > "$run/checkpoint-6/optimizer.pt" &
sleep 1; kill -9 $!                      # the save of step 6 dies half-way
holdfast seal "$run/checkpoint-6" || true
holdfast resume "$run"
