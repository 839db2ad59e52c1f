import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { adopt } from '../../../src/store/adopt/adopt.ts';
import { startAttempt } from '../../../src/store/attempt/attempt.ts';
import { type DurableFs, realFs } from '../../../src/store/disk/durable-fs.ts';
import { lastGood } from '../../../src/store/resume/last-good.ts';
import { BESIDE_SUFFIX } from '../../../src/seal/names.ts';
import { prune } from '../../../src/store/retention/prune.ts';
import { listQuarantine, restore } from '../../../src/store/resume/quarantine.ts';
import type { OpenStore } from '../../../src/store/folder/store.ts';
import { killedAfterRenames } from '../killed-after.ts';
import { LOOSE, type Loose, looseFiles, looseName, writeLoose } from '../loose-files.ts';
import { spoil } from '../spoil.ts';
import { openWith } from '../store-driver.ts';
import type { Scenario } from './scenario.ts';

const KEEP_ONE = { last: 1, every: null, withinMs: null };
const EXPORT = 'export';
const TITLES: Readonly<Record<Loose, string>> = { file: 'a single file', set: 'a set of files' };

function sealAt(store: OpenStore, path: string, step: number) {
  return adopt(store, join(store.path, path), { accept: 'anything', step });
}

/** A run in which these steps are sealed in the place where another tool put them. */
async function runOf(kind: Loose, fs: DurableFs, run: string, steps: readonly number[]): Promise<void> {
  await startAttempt(openWith(fs, run, 'a'), { gang: 'gang' });
  for (const step of steps) {
    writeLoose(fs, run, { kind, step });
    await sealAt(openWith(fs, run, `a${'b'.repeat(step)}`), looseName({ kind, step }), step);
  }
}

const oldOrNew: Scenario['allowed'] = (promises) => (promises.has('sealed') ? ['1/2'] : ['1/1', '1/2']);

function inPlace(kind: Loose): Scenario {
  return {
    name: `the seal of ${TITLES[kind]} that another tool wrote and never synced`,
    before: (fs, run) => runOf(kind, fs, run, [1]),
    async act(fs, run) {
      writeLoose(fs, run, { kind, step: 2 });
      await sealAt(openWith(fs, run, 'c'), looseName({ kind, step: 2 }), 2);
      fs.promise('sealed');
    },
    allowed: oldOrNew,
  };
}

/**
 * The files elsewhere are durable. After a crash in the move, a second move brings all of them into
 * the run and leaves nothing behind.
 */
function fromElsewhere(kind: Loose, renames: number | null): Scenario {
  const name = looseName({ kind, step: 2 });
  return {
    name: `the seal into the run of ${TITLES[kind]} from elsewhere${renames === null ? '' : ` after one that was killed after rename ${renames}`}`,
    async before(fs, run) {
      await runOf(kind, fs, run, [1]);
      fs.mkdir(join(run, EXPORT));
      writeLoose(fs, join(run, EXPORT), { kind, step: 2 });
    },
    async act(fs, run) {
      const path = join(EXPORT, name);
      if (renames !== null) await killedAfterRenames(renames, fs, (killed) => sealAt(openWith(killed, run, 'killed'), path, 2));
      await sealAt(openWith(fs, run, 'c'), path, 2);
      fs.promise('sealed');
    },
    allowed: oldOrNew,
    async again(run) {
      if (!existsSync(join(run, `${name}${BESIDE_SUFFIX}`))) await sealAt(openWith(realFs, run, 'again'), join(EXPORT, name), 2);
      const left = readdirSync(join(run, EXPORT));
      return left.map((file) => `${file} was left behind`);
    },
  };
}

function pruned(kind: Loose, renames: number | null): Scenario {
  return {
    name: `a prune that deletes ${TITLES[kind]}${renames === null ? '' : ` after one that was killed after rename ${renames}`}`,
    before: (fs, run) => runOf(kind, fs, run, [1, 2]),
    async act(fs, run) {
      const retention = KEEP_ONE;
      if (renames !== null) await killedAfterRenames(renames, fs, (killed) => prune(openWith(killed, run, 'killed'), { retention }));
      await prune(openWith(fs, run, 'c'), { retention });
    },
    allowed: () => ['1/2'],
    async again(run) {
      await prune(openWith(realFs, run, 'again'), { retention: KEEP_ONE });
      const kept = new Set([...looseFiles({ kind, step: 2 }).keys(), `${looseName({ kind, step: 2 })}${BESIDE_SUFFIX}`, '.holdfast']);
      const left = [...readdirSync(run), ...readdirSync(join(run, '.holdfast/trash'))].filter((name) => !kept.has(name));
      return left.map((name) => `${name} was never deleted`);
    },
  };
}

/** The damaged member: its bytes are kept, in one place or the other. */
const CUT = 'cut';

function damage(kind: Loose, fs: DurableFs, run: string): void {
  const [member = ''] = looseFiles({ kind, step: 2 }).keys();
  fs.unlink(join(run, member));
  fs.writeFile(join(run, member), CUT);
}

function quarantined(kind: Loose): Scenario {
  const name = looseName({ kind, step: 2 });
  return {
    name: `${TITLES[kind]} that is bad and goes to quarantine`,
    async before(fs, run) {
      await runOf(kind, fs, run, [1, 2]);
      damage(kind, fs, run);
    },
    async act(fs, run) {
      await lastGood(openWith(fs, run, 'c'));
    },
    bad: name,
    allowed: () => ['1/1'],
    // By now `resume` has moved the rest of it out of the run.
    alsoHolds: (run) =>
      listQuarantine(openWith(realFs, run, 'look')).some((one) => one.name === name) ? [] : ['the bad one is not in quarantine'],
    async again(run) {
      for (const { id } of listQuarantine(openWith(realFs, run, 'look'))) restore(openWith(realFs, run, 'again'), id);
      const lost = [...looseFiles({ kind, step: 2 }).keys(), `${name}${BESIDE_SUFFIX}`].filter((member) => !existsSync(join(run, member)));
      const [member = ''] = looseFiles({ kind, step: 2 }).keys();
      const isKept = lost.length > 0 || readFileSync(join(run, member), 'utf8') === CUT;
      // The returned checkpoint is bad as before, and does not block the next one.
      await lastGood(openWith(realFs, run, 'later'));
      return [...lost.map((one) => `${one} is lost`), ...(isKept ? [] : [`${member} is not what was moved aside`])];
    },
  };
}

function restored(kind: Loose): Scenario {
  const name = looseName({ kind, step: 2 });
  return {
    name: `${TITLES[kind]} that comes back from quarantine`,
    async before(fs, run) {
      await runOf(kind, fs, run, [1, 2]);
      damage(kind, fs, run);
      await lastGood(openWith(fs, run, 'c'));
      const [[member = '', content = Buffer.alloc(0)] = []] = looseFiles({ kind, step: 2 });
      const entry = join(run, '.holdfast/quarantine', name);
      fs.unlink(join(entry, member));
      fs.writeFile(join(entry, member), content);
    },
    async act(fs, run) {
      restore(openWith(fs, run, 'd'), name);
      fs.promise('sealed');
    },
    allowed: oldOrNew,
    async again(run) {
      const store = openWith(realFs, run, 'again');
      for (const { id } of listQuarantine(store)) restore(store, id);
      const { checkpoint } = await lastGood(store);
      return checkpoint?.name === name ? [] : [`it does not come back: ${checkpoint?.name ?? 'nothing'}`];
    },
  };
}

/**
 * The checkpoint is not repaired, but its names and sizes are right. After any crash, `resume`
 * reads it whole and refuses it.
 */
function restoredBad(kind: Loose): Scenario {
  const name = looseName({ kind, step: 2 });
  return {
    name: `${TITLES[kind]} that comes back from quarantine as bad as it was`,
    async before(fs, run) {
      await runOf(kind, fs, run, [1, 2]);
      const member = [...looseFiles({ kind, step: 2 }).keys()].find((one) => !one.endsWith('.index'));
      spoil(fs, join(run, member ?? ''));
      await lastGood(openWith(fs, run, 'c'), { level: 'deep' });
    },
    async act(fs, run) {
      restore(openWith(fs, run, 'd'), name);
    },
    bad: name,
    allowed: () => ['1/1'],
  };
}

/**
 * Checkpoints whose files lie beside others. Each of their moves takes several renames, and a crash
 * must neither lose nor halve one.
 */
export const LOOSE_SCENARIOS: readonly Scenario[] = [
  ...LOOSE.map(inPlace),
  ...LOOSE.map((kind) => fromElsewhere(kind, null)),
  fromElsewhere('file', 1),
  fromElsewhere('file', 2),
  fromElsewhere('set', 3),
  ...LOOSE.map((kind) => pruned(kind, null)),
  pruned('file', 1),
  pruned('set', 2),
  ...LOOSE.map(quarantined),
  ...LOOSE.map(restored),
  ...LOOSE.map(restoredBad),
];
