import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { adopt } from '../../../src/store/adopt/adopt.ts';
import { startAttempt } from '../../../src/store/attempt/attempt.ts';
import { lastGood } from '../../../src/store/resume/last-good.ts';
import { pin } from '../../../src/store/retention/pins.ts';
import { prune } from '../../../src/store/retention/prune.ts';
import { listQuarantine, restore } from '../../../src/store/resume/quarantine.ts';
import { findSealed, rollBack } from '../../../src/store/attempt/roll-back.ts';
import { readRun } from '../../../src/store/folder/store.ts';
import { writeRank } from '../checkpoint-bytes.ts';
import { openWith, saveAll, saveSteps } from '../store-driver.ts';
import { killedAfterRenames } from '../killed-after.ts';
import { spoil } from '../spoil.ts';
import type { RecordingFs } from '../recording-fs.ts';
import { fencesTheFirst } from './save-scenarios.ts';
import type { Scenario } from './scenario.ts';

const KEEP_ONE = { last: 1, every: null, withinMs: null };

/** All other operations that change a run's folder. */
export const OTHER_SCENARIOS: readonly Scenario[] = [
  {
    name: 'a prune that deletes two of three checkpoints',
    before: async (fs, run) => void (await saveSteps(openWith(fs, run, 'a'), 'gang', [1, 2, 3], { worldSize: 1 })),
    async act(fs, run) {
      await prune(openWith(fs, run, 'b'), { retention: KEEP_ONE });
    },
    allowed: () => ['1/3'],
  },
  {
    name: 'a prune after a pin',
    before: async (fs, run) => void (await saveSteps(openWith(fs, run, 'a'), 'gang', [1, 2], { worldSize: 1 })),
    async act(fs, run) {
      const store = openWith(fs, run, 'b');
      pin(store, findSealed(store, '1'));
      fs.promise('pinned');
      await prune(store, { retention: KEEP_ONE });
    },
    allowed: () => ['1/2'],
    alsoHolds: (run, promises) => (promises.has('pinned') && !existsSync(join(run, '.holdfast/pins/step-1')) ? ['the pin is gone'] : []),
  },
  {
    name: 'a rollback',
    before: async (fs, run) => void (await saveSteps(openWith(fs, run, 'a'), 'gang', [1, 2], { worldSize: 1 })),
    async act(fs, run) {
      const store = openWith(fs, run, 'b');
      await rollBack(store, findSealed(store, '1'));
      fs.promise('rolled back');
    },
    allowed: (promises) => (promises.has('rolled back') ? ['1/1'] : ['1/1', '1/2']),
  },
  {
    name: 'a fresh start without deleting',
    before: async (fs, run) => void (await saveSteps(openWith(fs, run, 'a'), 'gang', [1], { worldSize: 1 })),
    async act(fs, run) {
      await rollBack(openWith(fs, run, 'b'), null);
      fs.promise('fresh');
    },
    allowed: (promises) => (promises.has('fresh') ? [null] : [null, '1/1']),
  },
  {
    name: 'a bad checkpoint that goes to quarantine',
    async before(fs, run) {
      await saveSteps(openWith(fs, run, 'a'), 'gang', [1, 2], { worldSize: 1 });
      fs.unlink(join(run, 'step-2', 'shard-0.dat'));
    },
    async act(fs, run) {
      await lastGood(openWith(fs, run, 'b'));
      fs.promise('moved aside');
    },
    bad: 'step-2',
    allowed: () => ['1/1'],
    alsoHolds: keepsTheBad,
  },
  {
    name: 'a checkpoint that comes back from quarantine',
    async before(fs, run) {
      await saveSteps(openWith(fs, run, 'a'), 'gang', [1, 2], { worldSize: 1 });
      const file = join(run, 'step-2', 'shard-0.dat');
      const bytes = fs.readFile(file);
      fs.unlink(file);
      await lastGood(openWith(fs, run, 'b'));
      fs.writeFile(join(run, '.holdfast/quarantine/step-2/step-2/shard-0.dat'), bytes);
    },
    async act(fs, run) {
      restore(openWith(fs, run, 'c'), 'step-2');
      fs.promise('restored');
    },
    allowed: (promises) => (promises.has('restored') ? ['1/2'] : ['1/1', '1/2']),
  },
  {
    name: 'a checkpoint that comes back from quarantine as bad as it was',
    async before(fs, run) {
      await saveSteps(openWith(fs, run, 'a'), 'gang', [1, 2], { worldSize: 1 });
      spoil(fs, join(run, 'step-2', 'shard-0.dat'));
      await lastGood(openWith(fs, run, 'b'), { level: 'deep' });
    },
    async act(fs, run) {
      restore(openWith(fs, run, 'c'), 'step-2');
    },
    bad: 'step-2',
    allowed: () => ['1/1'],
  },
  {
    name: 'the seal of a checkpoint that another tool wrote and never synced',
    before: async (fs, run) => void (await saveSteps(openWith(fs, run, 'a'), 'gang', [1], { worldSize: 1 })),
    async act(fs, run) {
      fs.mkdir(join(run, 'checkpoint-2'));
      writeRank(fs, join(run, 'checkpoint-2'), { attempt: 1, step: 2, worldSize: 1 }, 0);
      await adopt(openWith(fs, run, 'b'), join(run, 'checkpoint-2'), { accept: 'anything', step: 2 });
      fs.promise('sealed');
    },
    allowed: (promises) => (promises.has('sealed') ? ['1/2'] : ['1/1', '1/2']),
  },
  ...[1, 2].map(joinAfter),
  {
    name: 'a prune after a commit that was killed before its last sync',
    before: async (fs, run) => void (await saveSteps(openWith(fs, run, 'a'), 'gang', [1], { worldSize: 1 })),
    async act(fs, run) {
      await commitKilled(fs, run);
      await prune(openWith(fs, run, 'c'), { retention: KEEP_ONE });
      fs.promise('pruned');
    },
    allowed: (promises) => (promises.has('pruned') ? ['1/2'] : ['1/1', '1/2']),
  },
  {
    name: 'a prune after one that was killed when it had moved a checkpoint to the trash',
    before: async (fs, run) => void (await saveSteps(openWith(fs, run, 'a'), 'gang', [1, 2], { worldSize: 1 })),
    async act(fs, run) {
      await killedAfterRenames(1, fs, (killed) => prune(openWith(killed, run, 'killed'), { retention: KEEP_ONE }));
      await prune(openWith(fs, run, 'c'), { retention: KEEP_ONE });
    },
    allowed: () => ['1/2'],
  },
  {
    name: 'a new attempt after a commit that was killed before its last sync',
    before: async (fs, run) => void (await saveSteps(openWith(fs, run, 'a'), 'gang', [1], { worldSize: 1 })),
    async act(fs, run) {
      await commitKilled(fs, run);
      const store = openWith(fs, run, 'c');
      await startAttempt(store, { gang: 'the next gang' });
      const { checkpoint } = await lastGood(store, { isReadOnly: true });
      fs.promise(`resumed from ${checkpoint?.name}`);
    },
    allowed: (promises) => (promises.has('resumed from step-2') ? ['1/2'] : ['1/1', '1/2']),
  },
  {
    name: 'a prune after a seal that was killed before its last sync',
    before: async (fs, run) => void (await saveSteps(openWith(fs, run, 'a'), 'gang', [1], { worldSize: 1 })),
    async act(fs, run) {
      await sealKilled(fs, run);
      await prune(openWith(fs, run, 'c'), { retention: KEEP_ONE });
      fs.promise('pruned');
    },
    allowed: (promises) => (promises.has('pruned') ? ['1/2'] : ['1/1', '1/2']),
  },
  {
    name: 'the seal of a checkpoint once more after one that was killed before its last sync',
    before: async (fs, run) => void (await saveSteps(openWith(fs, run, 'a'), 'gang', [1], { worldSize: 1 })),
    async act(fs, run) {
      await sealKilled(fs, run);
      await adopt(openWith(fs, run, 'c'), join(run, 'checkpoint-2'), { accept: 'anything', step: 2 });
      fs.promise('sealed');
    },
    allowed: (promises) => (promises.has('sealed') ? ['1/2'] : ['1/1', '1/2']),
  },
  {
    name: 'a new attempt after a seal that was killed before its last sync',
    before: async (fs, run) => void (await saveSteps(openWith(fs, run, 'a'), 'gang', [1], { worldSize: 1 })),
    async act(fs, run) {
      await sealKilled(fs, run);
      const store = openWith(fs, run, 'c');
      await startAttempt(store, { gang: 'the next gang' });
      const { checkpoint } = await lastGood(store, { isReadOnly: true });
      fs.promise(`resumed from ${checkpoint?.name}`);
    },
    allowed: (promises) => (promises.has('resumed from checkpoint-2') ? ['1/2'] : ['1/1', '1/2']),
  },
];

/** A bad checkpoint is never lost: after `resume` it is in quarantine, with a readable reason. */
function keepsTheBad(run: string): string[] {
  const entries = listQuarantine(readRun(run)).filter(({ name }) => name === 'step-2');
  if (entries.length === 0) return ['the bad checkpoint is lost'];
  return entries.every(({ code }) => code === 'FILE_MISSING') ? [] : ['the reason is lost'];
}

/** A save of step 2 that is killed right after the rename that commits it. */
async function commitKilled(fs: RecordingFs, run: string): Promise<void> {
  await killedAfterRenames(2, fs, (killed) =>
    saveAll(openWith(killed, run, 'killed'), { attempt: 1, gang: 'gang' }, { step: 2, worldSize: 1 }),
  );
}

/**
 * A seal of a checkpoint that another tool wrote, killed right after the rename that puts its
 * manifest in place.
 */
async function sealKilled(fs: RecordingFs, run: string): Promise<void> {
  const path = join(run, 'checkpoint-2');
  fs.mkdir(path);
  writeRank(fs, path, { attempt: 1, step: 2, worldSize: 1 }, 0);
  await killedAfterRenames(1, fs, (killed) => adopt(openWith(killed, run, 'killed'), path, { accept: 'anything', step: 2 }));
}

/**
 * A gang with one rank that began the attempt and was killed after this many renames. The first
 * rename makes the attempt, the second one fences.
 */
function joinAfter(renames: number): Scenario {
  return {
    name: `a join of an attempt whose first was killed after rename ${renames}`,
    before: async (fs, run) => void (await saveSteps(openWith(fs, run, 'a'), 'gang', [1], { worldSize: 1 })),
    async act(fs, run) {
      await killedAfterRenames(renames, fs, (killed) => startAttempt(openWith(killed, run, 'b'), { gang: 'the next gang' }));
      await startAttempt(openWith(fs, run, 'c'), { gang: 'the next gang' });
      fs.promise('attempt 2');
    },
    allowed: () => ['1/1'],
    alsoHolds: fencesTheFirst,
  };
}
