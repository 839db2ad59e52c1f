import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { realFs } from '../../../src/checkpoint/store/durable-fs.ts';
import { writeRank } from '../checkpoint-bytes.ts';
import { openWith, saveSteps } from '../store-driver.ts';

export type Subject = 'save' | 'seal' | 'prune';
export const SUBJECTS: readonly Subject[] = ['save', 'seal', 'prune'];

/** What is saved or sealed while faults are injected; steps below it are there before. */
export const SUBJECT_STEP = 4;

/** How large a subject is; drawn for each round of a long run. */
export interface Shape {
  readonly bytes: number;
  readonly ranks: number;
}

/** Makes the folder of a run in which the subject can act: checkpoints of steps 1 to 3, and for a seal the files of another tool. */
export async function prepare(subject: Subject, run: string, { bytes, ranks }: Shape): Promise<void> {
  mkdirSync(run);
  await saveSteps(openWith(realFs, run, 'before'), 'gang', [1, 2, 3], { worldSize: ranks, bytes });
  if (subject !== 'seal') return;
  mkdirSync(join(run, 'checkpoint-2'));
  for (let rank = 0; rank < ranks; rank++)
    writeRank(realFs, join(run, 'checkpoint-2'), { attempt: 1, step: SUBJECT_STEP, worldSize: ranks, bytes }, rank);
}

/** What `resume` may find afterwards: by a subject that was answered, and by one that was not. */
export function allowed(subject: Subject, isAnswered: boolean): readonly string[] {
  if (subject === 'prune') return ['1/3'];
  return isAnswered ? [`1/${SUBJECT_STEP}`] : ['1/3', `1/${SUBJECT_STEP}`];
}
