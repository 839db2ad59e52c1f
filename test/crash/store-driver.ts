import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Attempt, startAttempt } from '../../src/store/attempt/attempt.ts';
import { commitSave, type Sealed } from '../../src/store/commit/commit.ts';
import type { DurableFs } from '../../src/store/disk/durable-fs.ts';
import { lastGood } from '../../src/store/resume/last-good.ts';
import { MANIFEST_NAME } from '../../src/seal/names.ts';
import { beginSave, writeReceipt } from '../../src/store/commit/save.ts';
import { openRun, type OpenStore, readRun } from '../../src/store/folder/store.ts';
import { type SaveName, wholeOf, writeRank } from './checkpoint-bytes.ts';
import { looseDifferences, looseHalves } from './loose-files.ts';
import { readTree } from './model/tree.ts';
import { sealedOnDisk } from './writers/sealed-on-disk.ts';

/** The boot of the kernel in which everything is recorded. */
const BOOT = 'before the crash';

/**
 * Opens the run with ids that follow from `label`, so that two recordings of the same operation are
 * equal.
 */
export function openWith(fs: DurableFs, run: string, label: string): OpenStore {
  let ids = 0;
  const makeId = (): string => {
    ids += 1;
    return `id-${label}-${ids}`;
  };
  return openRun(run, { fs, makeId, bootId: BOOT, owner: 'id-process-1' });
}

/**
 * One whole save: every rank writes its files and then its receipt, then the first rank commits.
 */
export async function saveAll(store: OpenStore, attempt: Attempt, wanted: Omit<SaveName, 'attempt'>): Promise<Sealed> {
  const { step, worldSize } = wanted;
  const save = beginSave(store, attempt, { step, worldSize });
  const name = { ...wanted, attempt: attempt.attempt };
  const files = Array.from({ length: worldSize }, (_, rank) => writeRank(store.fs, save.data, name, rank));
  for (const [rank, own] of files.entries()) await writeReceipt(store, save, { rank, files: own });
  return commitSave(store, save);
}

/** Starts an attempt of a gang and saves each step. */
export async function saveSteps(
  store: OpenStore,
  gang: string,
  steps: readonly number[],
  { worldSize = 2, bytes = 64 } = {},
): Promise<Attempt> {
  const attempt = await startAttempt(store, { gang });
  for (const step of steps) await saveAll(store, attempt, { step, worldSize, bytes });
  return attempt;
}

/**
 * The result of `resume` in a run's folder: `attempt/step`, or null when there is nothing to resume
 * from; and the faults in its bytes.
 */
export async function resume(run: string, bytes = 64): Promise<{ readonly key: string | null; readonly faults: readonly string[] }> {
  const { checkpoint } = await lastGood(readRun(run, { bootId: BOOT, owner: null }));
  if (checkpoint === null) return { key: null, faults: [] };
  const { attempt, step, worldSize } = checkpoint.manifest;
  const { kind, root, name, path } = checkpoint;
  const faults = kind === 'files' ? looseDifferences(root, name, step, bytes) : differences(path, { attempt, step, worldSize, bytes });
  return { key: `${attempt}/${step}`, faults };
}

/** The differences between a checkpoint on disk and its save, byte by byte. */
export function differences(path: string, save: SaveName): string[] {
  const expected = wholeOf(save);
  const faults: string[] = [];
  for (const [name, content] of readTree(path)) {
    if (content === null || name === MANIFEST_NAME) continue;
    const bytes = expected.get(name);
    if (bytes === undefined) faults.push(`${name} is not of this save`);
    else if (!bytes.equals(content)) faults.push(`${name} has other bytes than were saved`);
    expected.delete(name);
  }
  return [...faults, ...[...expected.keys()].map((name) => `${name} is missing`)];
}

/**
 * Every entry with the name of a checkpoint is a whole one: never half-written, never half-deleted.
 */
export function halves(
  run: string,
  { except, bytes = 64 }: { readonly except?: string | undefined; readonly bytes?: number } = {},
): string[] {
  const names = readdirSync(run).filter((name) => name.startsWith('step-') && name !== except);
  const sealed = sealedOnDisk(run);
  const folders = names.flatMap((name) => {
    const found = sealed.find(({ path }) => path === join(run, name));
    return found === undefined ? [`${name} has no seal`] : differences(found.path, { ...found, bytes }).map((fault) => `${name}: ${fault}`);
  });
  return [...folders, ...looseHalves(run, { except, bytes })];
}
