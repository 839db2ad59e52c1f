#!/usr/bin/env bash
# Makes test/fixtures/other-step: the pieces of a later save of the same training, for tests that
# mix two saves. Each file lies where its counterpart lies in test/fixtures/whole, so that one can
# take the other's place.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
whole=$here/../fixtures/whole
target=$here/../fixtures/other-step
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

# One maker, and which of its fixtures consist of several pieces.
makers=(
  "dcp dcp-4-ranks"
  "deepspeed_zero deepspeed-zero1 deepspeed-zero3"
  "keras_models keras-sharded-weights"
  "lightning_ckpt lightning-sharded"
  "megatron_dist megatron-dist megatron-dist-integrity"
  "megatron_legacy megatron-legacy"
  "safetensors_files safetensors-sharded"
  "tensorflow_checkpoints tf-sharded"
  "torchsnapshot_dir torchsnapshot-2-ranks"
)

for line in "${makers[@]}"; do
  read -r maker fixtures <<<"$line"
  family=$(sed -nE 's/^(# f|F)amily: *([a-z0-9]+).*/\2/p' "$here/makers/$maker.py" | head -1)
  python=$("$here/setup.sh" "$family" | sed "s/^$family=//")
  # A maker may stop at a later fixture whose name follows from its step; those are not needed here.
  HOLDFAST_EXTRA_STEPS=25 "$python" "$here/makers/$maker.py" "$made" >&2 || true
  for fixture in $fixtures; do
    (cd "$whole/$fixture" && find data -type f) | while read -r file; do
      # The folder of an iteration or tag carries its number.
      name=$(sed -E 's/iter_0000100/iter_0000125/; s/global_step4/global_step29/' <<<"$file")
      [ -f "$made/$fixture/$name" ] || continue
      mkdir -p "$target/$fixture/$(dirname "$file")"
      cp "$made/$fixture/$name" "$target/$fixture/$file"
    done
  done
done
