import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { measureProcess } from './support/process.ts';
import type { Suite, Variant } from './support/suite.ts';
import { writeDcp } from '../test/support/make-dcp.ts';
import { writeShardedSafetensors } from '../test/support/make-safetensors.ts';

const HOLDFAST = join(import.meta.dirname, '..', 'bin', 'holdfast');

/** One checkpoint of 10,000 files. */
export async function verifyQuick(): Promise<Suite> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  writeShardedSafetensors(folder, 10_000);
  return {
    name: 'verify quick, 10,000 files',
    description:
      'One sharded safetensors checkpoint of 10,000 shards, as a process, start-up included. Warm caches. The reference lists the folder and reads the first 4 KiB of each file with `node`.',
    rounds: 7,
    reference: 'list and read 4 KiB each',
    bytes: 0,
    variants: [
      { name: 'list and read 4 KiB each', run: () => measureProcess([process.execPath, '-e', READ_HEADS, folder]) },
      // Only weights: the answer is WEIGHTS_ONLY, with exit code 1.
      { name: 'holdfast verify', run: () => measureProcess([HOLDFAST, 'verify', folder], [1]) },
    ],
    bounds: [{ text: 'at most 1 s', isMet: (results) => (results.get('holdfast verify')?.seconds.median ?? 9) <= 1 }],
    dispose: () => rmSync(folder, { recursive: true }),
  };
}

/** One distributed checkpoint of 10,000 shard files with a chunk each. */
export async function verifyQuickDcp(): Promise<Suite> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  writeDcp(folder, { ranks: 100, tensors: 100, isFilePerChunk: true });
  return {
    name: 'verify quick, 10,000 DCP files',
    description:
      'One PyTorch distributed checkpoint of 10,000 shard files, as a process, start-up included. Warm caches. The reference lists the folder and reads the first 4 KiB of each file with `node`.',
    rounds: 7,
    reference: 'list and read 4 KiB each',
    bytes: 0,
    variants: [
      { name: 'list and read 4 KiB each', run: () => measureProcess([process.execPath, '-e', READ_HEADS, folder]) },
      { name: 'holdfast verify', run: () => measureProcess([HOLDFAST, 'verify', folder]) },
    ],
    bounds: [{ text: 'at most 1 s', isMet: (results) => (results.get('holdfast verify')?.seconds.median ?? 9) <= 1 }],
    dispose: () => rmSync(folder, { recursive: true }),
  };
}

/** A distributed checkpoint like those of large runs: 1,000 ranks, 1,000 tensors. */
export async function verifyMillionChunks(): Promise<Suite> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  writeDcp(folder, { ranks: 1000, tensors: 1000 });
  const verify: Variant = { name: 'holdfast verify', run: () => measureProcess([HOLDFAST, 'verify', folder]) };
  return {
    name: 'verify quick, 1,000,000 chunks',
    description:
      'One PyTorch distributed checkpoint of 1,000 shard files with 1,000 chunks each; its metadata alone has 150 MB. As a process, start-up included. Warm caches. The reference reads the metadata and the first 4 KiB of each shard with `node`.',
    rounds: 3,
    reference: 'read the metadata',
    bytes: 0,
    variants: [{ name: 'read the metadata', run: () => measureProcess([process.execPath, '-e', READ_METADATA, folder]) }, verify],
    bounds: [
      { text: 'at most 15 s', isMet: (results) => (results.get(verify.name)?.seconds.median ?? 99) <= 15 },
      { text: 'at most 256 MB', isMet: (results) => (results.get(verify.name)?.peakBytes ?? Infinity) <= 256_000_000 },
    ],
    dispose: () => rmSync(folder, { recursive: true }),
  };
}

const READ_METADATA = `
  const fs = require('node:fs'), path = require('node:path'), folder = process.argv[1], head = Buffer.alloc(4096);
  fs.readFileSync(path.join(folder, '.metadata'));
  for (const name of fs.readdirSync(folder)) {
    const file = fs.openSync(path.join(folder, name));
    fs.readSync(file, head, 0, 4096, 0);
    fs.closeSync(file);
  }`;

const READ_HEADS = `
  const fs = require('node:fs'), path = require('node:path'), folder = process.argv[1], head = Buffer.alloc(4096);
  for (const name of fs.readdirSync(folder)) {
    const file = fs.openSync(path.join(folder, name));
    fs.readSync(file, head, 0, 4096, 0);
    fs.closeSync(file);
  }`;

/** Finds the newest good checkpoint in a run of 100 checkpoints with 1,000 files each. */
export async function verifyLastGood(): Promise<Suite> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  for (let step = 1; step <= 100; step++) {
    const checkpoint = join(folder, `checkpoint-${step * 10}`);
    mkdirSync(checkpoint);
    writeShardedSafetensors(checkpoint, 995, { withOptimizer: true });
    writeFileSync(join(checkpoint, 'trainer_state.json'), JSON.stringify({ global_step: step * 10 }));
  }
  const verify: Variant = { name: 'holdfast verify --last-good', run: () => measureProcess([HOLDFAST, 'verify', '--last-good', folder]) };
  return {
    name: 'verify --last-good, 100 × 1,000 files',
    description:
      'A run of 100 checkpoints with 1,000 files each, as a process, start-up included. Warm caches. The reference lists all folders with `node`.',
    rounds: 7,
    reference: 'list the folders',
    bytes: 0,
    variants: [{ name: 'list the folders', run: () => measureProcess([process.execPath, '-e', LIST, folder]) }, verify],
    bounds: [{ text: 'at most 1 s', isMet: (results) => (results.get(verify.name)?.seconds.median ?? 9) <= 1 }],
    dispose: () => rmSync(folder, { recursive: true }),
  };
}

const LIST = `
  const fs = require('node:fs'), path = require('node:path'), folder = process.argv[1];
  for (const name of fs.readdirSync(folder)) fs.readdirSync(path.join(folder, name), { withFileTypes: true });`;
