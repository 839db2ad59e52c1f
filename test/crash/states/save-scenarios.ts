import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { startAttempt } from '../../../src/store/attempt/attempt.ts';
import { beginSave } from '../../../src/store/commit/save.ts';
import { writeRank } from '../checkpoint-bytes.ts';
import { openWith, saveAll, saveSteps } from '../store-driver.ts';
import type { Key, Scenario } from './scenario.ts';

/** The new checkpoint once it was promised; before that, the old one or the new one. */
function oldOrNew(before: Key, after: Key, promise: string): Scenario['allowed'] {
  return (promises) => (promises.has(promise) ? [after] : [before, after]);
}

/** Once attempt 2 was promised, its number stays taken, and attempt 1 cannot commit any more. */
export function fencesTheFirst(run: string, promises: ReadonlySet<string>): string[] {
  if (!promises.has('attempt 2')) return [];
  const faults = existsSync(join(run, '.holdfast/attempts/2')) ? [] : ['the number of attempt 2 is free again'];
  return existsSync(join(run, '.holdfast/attempts/1/staging')) ? [...faults, 'attempt 1 can commit again'] : faults;
}

/** Saves and starts of attempts. */
export const SAVE_SCENARIOS: readonly Scenario[] = [
  {
    name: 'the first save of a run',
    before: async () => {},
    async act(fs, run) {
      await saveSteps(openWith(fs, run, 'a'), 'gang', [1], { worldSize: 1 });
      fs.promise('sealed');
    },
    allowed: oldOrNew(null, '1/1', 'sealed'),
  },
  {
    name: 'a save of two ranks',
    before: async (fs, run) => void (await saveSteps(openWith(fs, run, 'a'), 'gang', [1])),
    async act(fs, run) {
      await saveSteps(openWith(fs, run, 'b'), 'gang', [2], { worldSize: 2 });
      fs.promise('sealed');
    },
    allowed: oldOrNew('1/1', '1/2', 'sealed'),
  },
  {
    name: 'a save whose step was saved before by an older attempt',
    before: async (fs, run) => void (await saveSteps(openWith(fs, run, 'a'), 'gang', [1, 2])),
    async act(fs, run) {
      await saveSteps(openWith(fs, run, 'b'), 'the next gang', [2], { worldSize: 1 });
      fs.promise('sealed');
    },
    allowed: oldOrNew('1/2', '2/2', 'sealed'),
  },
  {
    name: 'the start of an attempt while an older one is in the middle of a save',
    async before(fs, run) {
      const store = openWith(fs, run, 'a');
      const attempt = await saveSteps(store, 'gang', [1]);
      const save = beginSave(store, attempt, { step: 2, worldSize: 1 });
      writeRank(fs, save.data, { attempt: 1, step: 2, worldSize: 1 }, 0);
    },
    async act(fs, run) {
      await startAttempt(openWith(fs, run, 'b'), { gang: 'the next gang' });
      fs.promise('attempt 2');
    },
    allowed: () => ['1/1'],
    alsoHolds: fencesTheFirst,
  },
  {
    name: 'two saves, one after the other',
    before: async (fs, run) => void (await saveSteps(openWith(fs, run, 'a'), 'gang', [1])),
    async act(fs, run) {
      const store = openWith(fs, run, 'b');
      const attempt = await startAttempt(store, { gang: 'gang' });
      for (const step of [2, 3]) {
        await saveAll(store, attempt, { step, worldSize: 1 });
        fs.promise(`sealed ${step}`);
      }
    },
    allowed: (promises) => (promises.has('sealed 3') ? ['1/3'] : promises.has('sealed 2') ? ['1/2', '1/3'] : ['1/1', '1/2']),
  },
];
