import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatBytes } from '../src/core/bytes.ts';
import { measureProcess } from './support/process.ts';
import { Saver, torchPython } from './support/saver.ts';
import { LARGE_BYTES, roundsOr } from './support/size.ts';
import type { Suite, Variant } from './support/suite.ts';

const HOLDFAST = join(import.meta.dirname, '..', 'bin', 'holdfast');
const RAW_READ = join(import.meta.dirname, 'support', 'raw-read.ts');
const FILES = 4;

/** The memory of `holdfast seal` while it seals a large checkpoint that was just written. */
export async function sealMemory(): Promise<Suite | string> {
  const python = torchPython();
  if (python === null) return 'the torch environment is missing (test/frameworks/setup.sh torch)';
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  const run = join(folder, 'run');
  const checkpoint = join(run, 'step-100');
  mkdirSync(checkpoint, { recursive: true });
  const saver = await Saver.start(python, { bytes: LARGE_BYTES, files: FILES });
  await saver.save('safetensors+fsync', checkpoint);
  saver.stop();
  const files = readdirSync(checkpoint).map((file) => join(checkpoint, file));
  const unseal = () => {
    rmSync(join(run, '.holdfast'), { recursive: true, force: true });
    rmSync(join(checkpoint, 'holdfast.manifest.json'), { force: true });
  };
  const read: Variant = { name: 'read and CRC-32', run: () => measured([process.execPath, RAW_READ, 'hash', ...files]) };
  const seal: Variant = { name: 'holdfast seal', prepare: unseal, run: () => measured([HOLDFAST, 'seal', '--accept=weights', checkpoint]) };
  return {
    name: 'seal of a large checkpoint',
    description: `${formatBytes(LARGE_BYTES)} in ${FILES} safetensors files, warm caches, as a process, start-up included. Memory is what the process has of its own: pages of files it reads or maps belong to the page cache.`,
    rounds: roundsOr(5),
    reference: read.name,
    bytes: LARGE_BYTES,
    variants: [read, seal],
    bounds: [
      { text: 'at most 100 MB of memory beyond page cache', isMet: (results) => (results.get(seal.name)?.peakBytes ?? Infinity) <= 100e6 },
    ],
    dispose: () => rmSync(folder, { recursive: true }),
  };
}

async function measured(command: readonly string[]): Promise<{ seconds: number; peakBytes: number }> {
  const { seconds, peakOwnBytes } = await measureProcess(command);
  return { seconds, peakBytes: peakOwnBytes };
}
