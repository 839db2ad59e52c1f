import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { adopt } from '../../../src/checkpoint/store/adopt.ts';
import { startAttempt } from '../../../src/checkpoint/store/attempt.ts';
import { realFs } from '../../../src/checkpoint/store/durable-fs.ts';
import type { OpenStore } from '../../../src/checkpoint/store/store.ts';
import { realClock } from '../../../src/core/clock.ts';
import { writeRank } from '../checkpoint-bytes.ts';
import { looseName, type LooseSave, writeLoose } from '../loose-files.ts';
import { openWith, saveSteps } from '../store-driver.ts';
import { shipTo } from './ship-checkpoint.ts';

export const SUBJECTS = ['save', 'seal', 'prune', 'ship', 'seal-file', 'seal-into', 'prune-files', 'quarantine-file', 'fetch'] as const;
/**
 * What is done while faults are injected: a save; the seal of a folder, of a single file, of a set of files from elsewhere; a prune of folders, of a
 * single file and a set; a single file that goes to quarantine; a ship and a fetch.
 */
export type Subject = (typeof SUBJECTS)[number];

/** What is saved or sealed while faults are injected; steps below it are there before. */
export const SUBJECT_STEP = 4;
/** What is shipped while faults are injected. */
export const SUBJECT_CHECKPOINT = 'step-3';

/** How large a subject is; drawn for each round of a long run. */
export interface Shape {
  readonly bytes: number;
  readonly ranks: number;
  /** Nothing was shipped before. */
  readonly isFirst: boolean;
}

/** Where a set lies that is sealed into the run. */
export const EXPORT = 'run/export';
/** What a bad file holds. */
export const CUT = 'cut';

/** What is sealed of files beside others, what goes of them, and what is bad. */
export const LOOSE_SUBJECTS = {
  'seal-file': { kind: 'file', step: SUBJECT_STEP },
  'seal-into': { kind: 'set', step: SUBJECT_STEP },
  'quarantine-file': { kind: 'file', step: SUBJECT_STEP },
} as const satisfies Partial<Record<Subject, LooseSave>>;

/** Subjects about checkpoints whose files lie beside others. */
export type LooseSubject = keyof typeof LOOSE_SUBJECTS | 'prune-files';

/** Nobody is looked for who may be writing: how many processes there are would shift the count of every call that follows. */
export const SEAL_AS = { accept: 'anything', step: SUBJECT_STEP, writers: () => new Map() } as const;

export function exported(work: string): string {
  return join(work, EXPORT, looseName(LOOSE_SUBJECTS['seal-into']));
}

/** Makes the folder a subject can work in: a run whose newest is step 3, and what the subject is about. */
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
      // As on a node that has lost its newest.
      await shipTo(work, SUBJECT_CHECKPOINT, realClock);
      return rmSync(join(run, SUBJECT_CHECKPOINT), { recursive: true });
    default:
  }
}

/** A single file and a set, older than what is kept. */
async function saveLoose(store: OpenStore, bytes: number): Promise<void> {
  await startAttempt(store, { gang: 'gang' });
  await sealLoose(store, { kind: 'file', step: 1, bytes });
  await sealLoose(store, { kind: 'set', step: 2 });
}

async function sealLoose(store: OpenStore, save: LooseSave): Promise<void> {
  writeLoose(realFs, store.path, save);
  await adopt(store, join(store.path, looseName(save)), { accept: 'anything', step: save.step });
}

/** What `resume` may find afterwards: by a subject that was answered, and by one that was not. */
export function allowed(subject: Subject, isAnswered: boolean): readonly string[] {
  const [before, after] = BEFORE_AND_AFTER[subject] ?? ['1/3', `1/${SUBJECT_STEP}`];
  return isAnswered ? [after] : [before, after];
}

/** Where it is not a new checkpoint after the third. */
const BEFORE_AND_AFTER: Readonly<Partial<Record<Subject, readonly [string, string]>>> = {
  prune: ['1/3', '1/3'],
  'prune-files': ['1/3', '1/3'],
  'quarantine-file': ['1/3', '1/3'],
  ship: ['1/3', '1/3'],
  fetch: ['1/2', '1/3'],
};
