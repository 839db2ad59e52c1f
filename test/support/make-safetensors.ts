import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const TRAINER = join(import.meta.dirname, '../fixtures/whole/hf-trainer/data/checkpoint-4');

/**
 * Writes `count` small shards and their index. On request it adds the three files from which a real
 * Trainer resumes.
 */
export function writeShardedSafetensors(folder: string, count: number, { withOptimizer = false } = {}): void {
  const weightMap: Record<string, string> = {};
  const shard = String(count).padStart(5, '0');
  for (let index = 1; index <= count; index++) {
    const name = `model-${String(index).padStart(5, '0')}-of-${shard}.safetensors`;
    const tensor = `layers.${index}.weight`;
    weightMap[tensor] = name;
    writeFileSync(join(folder, name), safetensorsFile({ [tensor]: 64 }));
  }
  const index = { metadata: { total_size: count * 64 * 4 }, weight_map: weightMap };
  writeFileSync(join(folder, 'model.safetensors.index.json'), JSON.stringify(index));
  if (!withOptimizer) return;
  for (const name of ['optimizer.pt', 'scheduler.pt', 'rng_state.pth']) copyFileSync(join(TRAINER, name), join(folder, name));
}

/** A file with float32 tensors of these lengths. */
export function safetensorsFile(tensors: Readonly<Record<string, number>>): Buffer {
  let end = 0;
  const header: Record<string, unknown> = {};
  for (const [name, length] of Object.entries(tensors)) {
    header[name] = { dtype: 'F32', shape: [length], data_offsets: [end, end + length * 4] };
    end += length * 4;
  }
  const json = JSON.stringify(header);
  const padded = Buffer.from(json.padEnd(Math.ceil(json.length / 8) * 8, ' '), 'latin1');
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(padded.length));
  return Buffer.concat([size, padded, Buffer.alloc(end, 0x3f)]);
}
