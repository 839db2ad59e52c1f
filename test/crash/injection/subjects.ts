import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { adopt } from '../../../src/store/adopt/adopt.ts';
import { startAttempt } from '../../../src/store/attempt/attempt.ts';
import { realFs } from '../../../src/store/disk/durable-fs.ts';
import type { OpenStore } from '../../../src/store/folder/store.ts';
import { realClock } from '../../../src/core/clock.ts';
import { writeRank } from '../checkpoint-bytes.ts';
import { looseName, type LooseSave, writeLoose } from '../loose-files.ts';
import { openWith, saveSteps } from '../store-driver.ts';
import { shipTo } from './ship-checkpoint.ts';

export const SUBJECTS = ['save', 'seal', 'prune', 'ship', 'seal-file', 'seal-into', 'prune-files', 'quarantine-file', 'fetch'] as const;
/**
 * The operations under injected faults: a save; the seal of a folder, of a single file, of a set of
 * files from elsewhere; a prune of folders, of a single file and a set; a single file that goes to
 * quarantine; a ship and a fetch.
 */
export type Subject = (typeof SUBJECTS)[number];

/** The step that is saved or sealed under faults; the steps below it already exist. */
export const SUBJECT_STEP = 4;
/** The step that is shipped under faults. */
export const SUBJECT_CHECKPOINT = 'step-3';

/** The size of a subject; drawn for each round of a long run. */
export interface Shape {
  readonly bytes: number;
  readonly ranks: number;
  /** No copy was shipped before. */
  readonly isFirst: boolean;
}

/** The folder of a set that is sealed into the run. */
export const EXPORT = 'run/export';
/** The bytes of a bad file. */
export const CUT = 'cut';

/** The names of files beside others: sealed, pruned, and bad. */
export const LOOSE_SUBJECTS = {
  'seal-file': { kind: 'file', step: SUBJECT_STEP },
  'seal-into': { kind: 'set', step: SUBJECT_STEP },
  'quarantine-file': { kind: 'file', step: SUBJECT_STEP },
} as const satisfies Partial<Record<Subject, LooseSave>>;

/** Subjects about checkpoints whose files lie beside others. */
export type LooseSubject = keyof typeof LOOSE_SUBJECTS | 'prune-files';

/**
 * Skips the search for writing processes: their number would shift the count of every later call.
 */
export const SEAL_AS = { accept: 'anything', step: SUBJECT_STEP, writers: () => new Map() } as const;

export function exported(work: string): string {
  return join(work, EXPORT, looseName(LOOSE_SUBJECTS['seal-into']));
}

/** Makes the folder for a subject: a run whose newest step is 3, and the input of the subject. */
export async function prepare(subject: Subject, work: string, shape: Shape): Promise<void> {
  const { bytes, ranks } = shape;
  const run = join(work, 'run');
  mkdirSync(run, { recursive: true });
  const store = openWith(realFs, run, 'before');
  const saved = { worldSize: ranks, bytes };
  if (subject === 'prune-files') await saveLoose(store, bytes);
  else await saveSteps(store, 'gang', [1, 2], saved);
  if (subject === 'ship' && !shape.isFirst) await shipTo(work, 'step-2', realClock);
  await saveSteps(store, 'gang', [3], saved);
  await prepareOther(subject, work, shape);
}

async function prepareOther(subject: Subject, work: string, { bytes, ranks }: Shape): Promise<void> {
  const run = join(work, 'run');
  switch (subject) {
    case 'seal':
      mkdirSync(join(run, 'checkpoint-2'));
      for (let rank = 0; rank < ranks; rank++)
        writeRank(realFs, join(run, 'checkpoint-2'), { attempt: 1, step: SUBJECT_STEP, worldSize: ranks, bytes }, rank);
      return;
    case 'seal-file':
      return writeLoose(realFs, run, { ...LOOSE_SUBJECTS[subject], bytes });
    case 'seal-into':
      mkdirSync(join(work, EXPORT));
      return writeLoose(realFs, join(work, EXPORT), LOOSE_SUBJECTS[subject]);
    case 'quarantine-file': {
      const bad = { ...LOOSE_SUBJECTS[subject], bytes };
      await sealLoose(openWith(realFs, run, 'bad'), bad);
      return writeFileSync(join(run, looseName(bad)), CUT);
    }
    case 'fetch':
      // As on a node that has lost its newest checkpoint.
      await shipTo(work, SUBJECT_CHECKPOINT, realClock);
      return rmSync(join(run, SUBJECT_CHECKPOINT), { recursive: true });
    default:
  }
}

/** A single file and a set, older than the kept ones. */
async function saveLoose(store: OpenStore, bytes: number): Promise<void> {
  await startAttempt(store, { gang: 'gang' });
  await sealLoose(store, { kind: 'file', step: 1, bytes });
  await sealLoose(store, { kind: 'set', step: 2 });
}

async function sealLoose(store: OpenStore, save: LooseSave): Promise<void> {
  writeLoose(realFs, store.path, save);
  await adopt(store, join(store.path, looseName(save)), { accept: 'anything', step: save.step });
}

/**
 * The possible results of `resume` after a subject that was answered, and after one that was not.
 */
export function allowed(subject: Subject, isAnswered: boolean): readonly string[] {
  const [before, after] = BEFORE_AND_AFTER[subject] ?? ['1/3', `1/${SUBJECT_STEP}`];
  return isAnswered ? [after] : [before, after];
}

/** Where the new checkpoint is not the next one after step 3. */
const BEFORE_AND_AFTER: Readonly<Partial<Record<Subject, readonly [string, string]>>> = {
  prune: ['1/3', '1/3'],
  'prune-files': ['1/3', '1/3'],
  'quarantine-file': ['1/3', '1/3'],
  ship: ['1/3', '1/3'],
  fetch: ['1/2', '1/3'],
};
