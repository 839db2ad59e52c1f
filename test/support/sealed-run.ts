import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { adopt } from '../../src/store/adopt/adopt.ts';
import { type Attempt, startAttempt } from '../../src/store/attempt/attempt.ts';
import { commitSave, type Sealed } from '../../src/store/commit/commit.ts';
import { beginSave, type Save, writeReceipt } from '../../src/store/commit/save.ts';
import { openRun, type OpenStore, type World } from '../../src/store/folder/store.ts';
import { VirtualClock } from '../../src/core/clock.ts';
import { MEMORY, tempFolder } from './temp-folder.ts';

/** A run in the test's own folder, with an attempt to save in: `using run = sealedRun()`. */
export interface TestRun {
  readonly path: string;
  readonly store: OpenStore;
  [Symbol.dispose](): void;
}

export function testRun(parts: Partial<World> = {}): TestRun {
  const folder = tempFolder(MEMORY);
  const store = openRun(folder.path, { clock: new VirtualClock(), bootId: 'boot-1', ...parts });
  return { path: folder.path, store, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

export interface SaveFacts {
  readonly step: number;
  readonly worldSize?: number;
  readonly save?: string;
}

/** A save with one file per rank and all receipts. */
export async function stagedSave(store: OpenStore, attempt: Attempt, { step, worldSize = 1, save }: SaveFacts): Promise<Save> {
  const begun = beginSave(store, attempt, { step, worldSize, ...(save === undefined ? {} : { save }) });
  for (let rank = 0; rank < worldSize; rank++) {
    const name = `shard-${rank}`;
    writeFileSync(join(begun.data, name), `bytes of rank ${rank} at step ${step}`);
    await writeReceipt(store, begun, { rank, files: [name] });
  }
  return begun;
}

export async function seal(store: OpenStore, attempt: Attempt, facts: SaveFacts): Promise<Sealed> {
  return commitSave(store, await stagedSave(store, attempt, facts));
}

/** Seals these steps in one attempt. */
export async function sealSteps(store: OpenStore, gang: string, ...steps: readonly number[]): Promise<Attempt> {
  const attempt = await startAttempt(store, { gang });
  for (const step of steps) await seal(store, attempt, { step });
  return attempt;
}

/** Seals `m1.dat`, `m2.dat`, … side by side in one attempt, each as its own checkpoint. */
export async function sealFilesBeside(store: OpenStore, ...steps: readonly number[]): Promise<void> {
  await startAttempt(store, { gang: 'g' });
  for (const step of steps) {
    writeFileSync(join(store.path, `m${step}.dat`), `the bytes of step ${step}`);
    await adopt(store, join(store.path, `m${step}.dat`), { step, accept: 'anything' });
  }
}
