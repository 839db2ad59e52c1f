import { closeSync, ftruncateSync, openSync, readdirSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { verifyPaths } from '../../../src/verify/verify.ts';

/** What the loader and `verify` say when the second half of the largest file was never written. */
export interface SparseTail {
  readonly file: string;
  readonly loader: string;
  readonly quick: string;
  readonly deep: string;
}

/** Gives the second half of the largest file below `folder` back as a hole. */
export async function makeLargestSparse(
  folder: string,
  load: () => Promise<{ readonly outcome: string; readonly digest?: string }>,
): Promise<SparseTail> {
  const whole = await load();
  const path = largestFile(folder);
  const { size } = statSync(path);
  const descriptor = openSync(path, 'r+');
  try {
    ftruncateSync(descriptor, Math.floor(size / 2));
    ftruncateSync(descriptor, size);
  } finally {
    closeSync(descriptor);
  }
  const loaded = await load();
  const isSilent = loaded.outcome === 'loaded' && loaded.digest !== whole.digest;
  return {
    file: relative(folder, path),
    loader: isSilent ? 'silent' : loaded.outcome,
    quick: await verdict(folder, 'quick'),
    deep: await verdict(folder, 'deep'),
  };
}

async function verdict(folder: string, level: 'quick' | 'deep'): Promise<string> {
  const { paths } = await verifyPaths([folder], { level, signal: new AbortController().signal });
  return (paths[0]?.checkpoints ?? []).map((checkpoint) => checkpoint.verdict).join(' ') || 'nothing found';
}

function largestFile(folder: string): string {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  const [first = folder, ...others] = files;
  return others.reduce((largest, file) => (statSync(file).size > statSync(largest).size ? file : largest), first);
}
