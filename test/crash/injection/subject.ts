import { closeSync, cpSync, openSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { adopt } from '../../../src/store/adopt/adopt.ts';
import { type DurableFs, realFs } from '../../../src/store/disk/durable-fs.ts';
import { removeTree } from '../../../src/store/disk/delete-tree.ts';
import { lastGood } from '../../../src/store/resume/last-good.ts';
import { BESIDE_SUFFIX, MANIFEST_NAME } from '../../../src/seal/names.ts';
import { prune } from '../../../src/store/retention/prune.ts';
import { realClock } from '../../../src/core/clock.ts';
import { HoldfastError } from '../../../src/core/errors.ts';
import { keepCompiled } from '../compile-cache.ts';
import { looseFiles, looseName } from '../loose-files.ts';
import { openWith, saveSteps } from '../store-driver.ts';
import { fetchFrom, shipTo } from './ship-checkpoint.ts';
import type { Answer, Order } from './subject-process.ts';
import { EXPORT, exported, LOOSE_SUBJECTS, type LooseSubject, SEAL_AS, SUBJECT_CHECKPOINT, SUBJECT_STEP } from './subjects.ts';

/** A process that does one operation for each order and answers with its outcome. */

const PIECE_BYTES = 16 * 1024;

/** Writes in pieces, as frameworks do, so that a kill lands inside a file. */
const fs: DurableFs = { ...realFs, writeFile: inPieces };

function inPieces(path: string, data: Uint8Array | string): void {
  const content = Buffer.from(data);
  const file = openSync(path, 'wx');
  try {
    for (let done = 0; done < content.length; ) done += writeSync(file, content, done, Math.min(PIECE_BYTES, content.length - done));
  } finally {
    closeSync(file);
  }
}

const KEEP_ONE = { last: 1, every: null, withinMs: null };

async function act(order: Order): Promise<void> {
  const { subject, shape, work, isSabotaged } = order;
  const run = join(work, 'run');
  switch (subject) {
    case 'save':
      // As tools do that first make room.
      if (isSabotaged) for (const step of [1, 2, 3]) removeTree(fs, join(run, `step-${step}`));
      await saveSteps(openWith(fs, run, 'subject'), 'gang', [SUBJECT_STEP], { worldSize: shape.ranks, bytes: shape.bytes });
      return;
    case 'seal':
      return seal(run, 'checkpoint-2', shape.ranks, isSabotaged);
    case 'prune':
      // Deletes in place, without the trash.
      if (isSabotaged) for (const step of [1, 2]) removeTree(fs, join(run, `step-${step}`));
      await prune(openWith(fs, run, 'subject'), { retention: KEEP_ONE });
      return;
    case 'ship':
      return shipTo(work, SUBJECT_CHECKPOINT, realClock, isSabotaged ? () => sealFirst(work) : undefined);
    case 'fetch':
      return isSabotaged ? copyInPlace(work) : fetchFrom(work, realClock);
    default:
      return actOnFiles(subject, order);
  }
}

/** Does the same to checkpoints whose files lie beside others. */
async function actOnFiles(subject: LooseSubject, { work, isSabotaged }: Order): Promise<void> {
  const run = join(work, 'run');
  switch (subject) {
    case 'seal-file':
      return seal(run, looseName(LOOSE_SUBJECTS[subject]), 1, isSabotaged);
    case 'seal-into':
      await adopt(openWith(isSabotaged ? sealFirstFs(join(work, EXPORT)) : fs, run, 'subject'), exported(work), SEAL_AS);
      return;
    case 'prune-files':
      // Deletes the files first: a partial checkpoint still has its seal.
      if (isSabotaged) for (const member of looseFiles({ kind: 'set', step: 2 }).keys()) fs.unlink(join(run, member));
      await prune(openWith(fs, run, 'subject'), { retention: KEEP_ONE });
      return;
    case 'quarantine-file':
      // Deletes bad checkpoints as worthless.
      if (isSabotaged) removeTree(fs, join(run, looseName(LOOSE_SUBJECTS[subject])));
      await lastGood(openWith(fs, run, 'subject'));
  }
}

/** Sabotaged: reports success for every outcome. */
async function seal(run: string, name: string, worldSize: number, isSabotaged: boolean): Promise<void> {
  try {
    await adopt(openWith(fs, run, 'subject'), join(run, name), { ...SEAL_AS, worldSize });
  } catch (thrown) {
    if (!isSabotaged) throw thrown;
  }
}

/** Writes the manifest first: the copy counts before its files exist. */
function sealFirst(work: string): void {
  const [from, to] = ['run', 'remote'].map((place) => join(work, place, SUBJECT_CHECKPOINT, MANIFEST_NAME)) as [string, string];
  cpSync(from, to);
}

/** Moves the seal before its files. */
function sealFirstFs(folder: string): DurableFs {
  const held: (readonly [string, string])[] = [];
  return {
    ...fs,
    rename(from, to) {
      if (dirname(from) === folder && !from.endsWith(BESIDE_SUFFIX)) held.push([from, to]);
      else fs.rename(from, to);
      if (dirname(from) === folder && from.endsWith(BESIDE_SUFFIX)) for (const one of held) fs.rename(...one);
    },
  };
}

/** Copies to the final name, the manifest first, as a tool that copies a folder does. */
function copyInPlace(work: string): void {
  const [from, to] = ['remote', 'run'].map((place) => join(work, place, SUBJECT_CHECKPOINT)) as [string, string];
  cpSync(from, to, { recursive: true });
}

async function answer(order: Order): Promise<Answer> {
  try {
    await act(order);
    return { end: 'answered', reason: '' };
  } catch (thrown) {
    // Refused with a reason, or failed with the system's own error if the trainer's write failed.
    const isRefused = thrown instanceof HoldfastError || (thrown instanceof Error && 'errno' in thrown);
    return { end: isRefused ? 'refused' : 'failed', reason: String(thrown) };
  } finally {
    keepCompiled();
  }
}

process.on('message', (order: Order) => {
  void answer(order).then((told) => process.send?.(told));
});
process.on('disconnect', () => process.exit());
