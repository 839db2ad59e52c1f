import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { realFs } from '../../../src/checkpoint/store/durable-fs.ts';
import { realClock } from '../../../src/core/clock.ts';
import { writeRank } from '../checkpoint-bytes.ts';
import { openWith, saveSteps } from '../store-driver.ts';
import { shipTo } from './ship-checkpoint.ts';

export type Subject = 'save' | 'seal' | 'prune' | 'ship';
export const SUBJECTS: readonly Subject[] = ['save', 'seal', 'prune', 'ship'];

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

/** Makes the folder a subject can work in: a run with steps 1 to 3; for a seal the files of another tool; for a ship an older copy. */
export async function prepare(subject: Subject, work: string, { bytes, ranks, isFirst }: Shape): Promise<void> {
  const run = join(work, 'run');
  mkdirSync(run, { recursive: true });
  const store = openWith(realFs, run, 'before');
  const saved = { worldSize: ranks, bytes };
  await saveSteps(store, 'gang', [1, 2], saved);
  if (subject === 'ship' && !isFirst) await shipTo(work, 'step-2', realClock);
  await saveSteps(store, 'gang', [3], saved);
  if (subject !== 'seal') return;
  mkdirSync(join(run, 'checkpoint-2'));
  for (let rank = 0; rank < ranks; rank++)
    writeRank(realFs, join(run, 'checkpoint-2'), { attempt: 1, step: SUBJECT_STEP, worldSize: ranks, bytes }, rank);
}

/** What `resume` may find afterwards: by a subject that was answered, and by one that was not. */
export function allowed(subject: Subject, isAnswered: boolean): readonly string[] {
  if (subject === 'prune' || subject === 'ship') return ['1/3'];
  return isAnswered ? [`1/${SUBJECT_STEP}`] : ['1/3', `1/${SUBJECT_STEP}`];
}
