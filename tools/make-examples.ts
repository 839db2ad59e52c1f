import { cpSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Makes `examples/checkpoints` from the fixtures, which the real frameworks wrote. Some are whole;
 * some are broken in the way that interruptions break them. `npm run examples` repeats it, and the
 * result is committed, so that a clone can show it at once.
 */
const ROOT = join(import.meta.dirname, '..');
const WHOLE = join(ROOT, 'test', 'fixtures', 'whole');
const EXAMPLES = join(ROOT, 'examples', 'checkpoints');

function copy(from: string, to: string): string {
  const path = join(EXAMPLES, to);
  cpSync(join(WHOLE, from), path, { recursive: true });
  return path;
}

rmSync(EXAMPLES, { recursive: true, force: true });

// A Hugging Face run that was killed during its newest save, with the save before half overwritten.
const run = copy('hf-trainer-run/data/run', 'trainer-run');
const optimizer = join(run, 'checkpoint-6', 'optimizer.pt');
truncateSync(optimizer, Math.floor(readFileSync(optimizer).length / 2));
cpSync(join(run, 'checkpoint-2', 'trainer_state.json'), join(run, 'checkpoint-4', 'trainer_state.json'));

// One flipped bit of tensor data, as from a bad disk. torch.load does not notice.
const rotten = copy('torch-zip-train/data/step-100.pt', 'bit-rot/step-100.pt');
const bytes = readFileSync(rotten);
const middle = Math.floor(bytes.length / 2);
bytes[middle] = (bytes[middle] ?? 0) ^ 0b100;
writeFileSync(rotten, bytes);

// A distributed checkpoint with a missing shard.
const distributed = copy('dcp-4-ranks/data/step-100', 'missing-shard/step-100');
rmSync(join(distributed, '__2_0.distcp'));

copy('lightning/data/checkpoints', 'whole/lightning');
copy('tf-manager/data/run', 'whole/tensorflow');
