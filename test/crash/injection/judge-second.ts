import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { adopt } from '../../../src/store/adopt/adopt.ts';
import { realFs } from '../../../src/store/disk/durable-fs.ts';
import { lastGood } from '../../../src/store/resume/last-good.ts';
import { BESIDE_SUFFIX } from '../../../src/seal/names.ts';
import { prune } from '../../../src/store/retention/prune.ts';
import { listQuarantine, restore } from '../../../src/store/resume/quarantine.ts';
import { realClock } from '../../../src/core/clock.ts';
import { looseDifferences, looseFiles, looseName } from '../loose-files.ts';
import { differences, openWith } from '../store-driver.ts';
import { fetchFrom } from './ship-checkpoint.ts';
import { CUT, EXPORT, exported, LOOSE_SUBJECTS, SEAL_AS, type Shape, type Subject, SUBJECT_CHECKPOINT, SUBJECT_STEP } from './subjects.ts';

/** The checkpoint that is bad on purpose. */
export function badOf(subject: Subject): string | undefined {
  return subject === 'quarantine-file' ? looseName(LOOSE_SUBJECTS[subject]) : undefined;
}

/**
 * The faults of a second run without injection: it must end as if the first one had had no fault.
 */
export async function faultsOfSecond(subject: Subject, shape: Shape, work: string): Promise<string[]> {
  const run = join(work, 'run');
  switch (subject) {
    case 'seal-into':
      return sealedInto(run, work);
    case 'prune-files': {
      await prune(openWith(realFs, run, 'second'), { retention: { last: 1, every: null, withinMs: null } });
      const left = [...readdirSync(run), ...readdirSync(join(run, '.holdfast/trash'))];
      return left.filter((name) => name !== '.holdfast' && name !== SUBJECT_CHECKPOINT).map((name) => `a further prune leaves ${name}`);
    }
    case 'quarantine-file':
      return keptBad(run);
    case 'fetch':
      await fetchFrom(work, realClock);
      return differences(join(run, SUBJECT_CHECKPOINT), { attempt: 1, step: 3, worldSize: shape.ranks, bytes: shape.bytes });
    default:
      return [];
  }
}

async function sealedInto(run: string, work: string): Promise<string[]> {
  const save = LOOSE_SUBJECTS['seal-into'];
  const name = looseName(save);
  if (!existsSync(join(run, `${name}${BESIDE_SUFFIX}`))) await adopt(openWith(realFs, run, 'second'), exported(work), SEAL_AS);
  const left = readdirSync(join(work, EXPORT)).map((file) => `a further seal leaves ${file} behind`);
  return [...left, ...looseDifferences(run, name, SUBJECT_STEP)];
}

/** A bad checkpoint is kept, byte for byte, and comes back on request. */
async function keptBad(run: string): Promise<string[]> {
  const name = looseName(LOOSE_SUBJECTS['quarantine-file']);
  const store = openWith(realFs, run, 'second');
  await lastGood(store);
  for (const { id } of listQuarantine(store)) restore(store, id);
  const members = [...looseFiles(LOOSE_SUBJECTS['quarantine-file']).keys(), `${name}${BESIDE_SUFFIX}`];
  const lost = members.filter((member) => !existsSync(join(run, member))).map((member) => `${member} is lost`);
  if (lost.length > 0 || readFileSync(join(run, name), 'utf8') === CUT) return lost;
  return [`${name} is not what was moved aside`];
}
