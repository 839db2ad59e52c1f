import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readBootId } from '../src/store/disk/boot-id.ts';
import { MANIFEST_NAME } from '../src/seal/names.ts';
import { formatManifest, MANIFEST_SCHEMA, type SealedFile } from '../src/seal/manifest.ts';
import { openRun } from '../src/store/folder/store.ts';
import { crc32c, hex32 } from '../src/core/checksums.ts';
import { writeShardedSafetensors } from '../test/support/make-safetensors.ts';
import { measureProcess } from './support/process.ts';
import { roundsOr } from './support/size.ts';
import type { Suite, Variant } from './support/suite.ts';

const HOLDFAST = join(import.meta.dirname, '..', 'bin', 'holdfast');
const CHECKPOINTS = 100;

/** Finds the last good checkpoint in a run of 100 sealed checkpoints with 1,000 files each. */
export async function sealResume(): Promise<Suite> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  const { run } = openRun(folder);
  for (let index = 1; index <= CHECKPOINTS; index++) writeSealed(folder, run, index * 10);
  const list: Variant = { name: 'list the folders', run: () => measureProcess([process.execPath, '-e', LIST, folder]) };
  const resume: Variant = { name: 'holdfast resume', run: () => measureProcess([HOLDFAST, 'resume', folder]) };
  return {
    name: 'resume, 100 × 1,000 files',
    description:
      'A run of 100 sealed checkpoints with 1,000 files each, as a process, start-up included. Warm caches. The reference lists all folders with `node`.',
    rounds: roundsOr(7),
    reference: list.name,
    bytes: 0,
    variants: [list, resume],
    bounds: [{ text: '`resume` takes at most 1 s', isMet: (results) => (results.get(resume.name)?.seconds.median ?? 9) <= 1 }],
    dispose: () => rmSync(folder, { recursive: true }),
  };
}

/** Writes without a sync. A sync would take minutes here and changes nothing for a reader. */
function writeSealed(folder: string, run: string, step: number): void {
  const checkpoint = join(folder, `step-${step}`);
  mkdirSync(checkpoint);
  writeShardedSafetensors(checkpoint, 995, { withOptimizer: true });
  writeFileSync(join(checkpoint, 'trainer_state.json'), JSON.stringify({ global_step: step }));
  const files = readdirSync(checkpoint)
    .sort()
    .map((path): SealedFile => {
      const bytes = readFileSync(join(checkpoint, path));
      return { path, size: bytes.length, crc32c: [hex32(crc32c(bytes))] };
    });
  const facts = {
    origin: 'adopted',
    format: 'hf-trainer',
    sealedAt: new Date(0).toISOString(),
    bootId: readBootId(),
    receipts: [],
  } as const;
  const identity = { run, attempt: 0, save: `save-${step}`, step, worldSize: 1 };
  writeFileSync(join(checkpoint, MANIFEST_NAME), formatManifest({ schema: MANIFEST_SCHEMA, ...identity, ...facts, files }));
}

const LIST = `
  const fs = require('node:fs'), path = require('node:path'), folder = process.argv[1];
  for (const name of fs.readdirSync(folder)) fs.readdirSync(path.join(folder, name), { withFileTypes: true });`;
