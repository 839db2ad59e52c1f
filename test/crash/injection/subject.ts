import { closeSync, cpSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { adopt } from '../../../src/checkpoint/store/adopt.ts';
import { type DurableFs, realFs } from '../../../src/checkpoint/store/durable-fs.ts';
import { removeTree } from '../../../src/checkpoint/store/delete-tree.ts';
import { MANIFEST_NAME } from '../../../src/checkpoint/store/layout.ts';
import { prune } from '../../../src/checkpoint/store/prune.ts';
import { realClock } from '../../../src/core/clock.ts';
import { HoldfastError } from '../../../src/core/errors.ts';
import { keepCompiled } from '../compile-cache.ts';
import { openWith, saveSteps } from '../store-driver.ts';
import { shipTo } from './ship-checkpoint.ts';
import type { Answer, Order } from './subject-process.ts';
import { SUBJECT_CHECKPOINT, SUBJECT_STEP } from './subjects.ts';

/** A process that does what it is told, once for each order, and answers how it ended. */

const PIECE_BYTES = 16 * 1024;

/** Writes in pieces, as frameworks do, so that a kill lands inside of a file. */
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

async function act({ subject, shape, work, isSabotaged }: Order): Promise<void> {
  const run = join(work, 'run');
  switch (subject) {
    case 'save':
      // As tools do that make room first.
      if (isSabotaged) for (const step of [1, 2, 3]) removeTree(fs, join(run, `step-${step}`));
      await saveSteps(openWith(fs, run, 'subject'), 'gang', [SUBJECT_STEP], { worldSize: shape.ranks, bytes: shape.bytes });
      return;
    case 'seal':
      return seal(run, shape.ranks, isSabotaged);
    case 'prune':
      // In place, without the trash.
      if (isSabotaged) for (const step of [1, 2]) removeTree(fs, join(run, `step-${step}`));
      await prune(openWith(fs, run, 'subject'), { retention: { last: 1, every: null, withinMs: null } });
      return;
    case 'ship':
      return shipTo(work, SUBJECT_CHECKPOINT, realClock, isSabotaged ? () => sealFirst(work) : undefined);
  }
}

/** Sabotaged, it says that all is well whatever happened. */
async function seal(run: string, worldSize: number, isSabotaged: boolean): Promise<void> {
  try {
    const options = { accept: 'anything', step: SUBJECT_STEP, worldSize } as const;
    await adopt(openWith(fs, run, 'subject'), join(run, 'checkpoint-2'), options);
  } catch (thrown) {
    if (!isSabotaged) throw thrown;
  }
}

/** The manifest goes first: the copy counts before it is there. */
function sealFirst(work: string): void {
  const [from, to] = ['run', 'remote'].map((place) => join(work, place, SUBJECT_CHECKPOINT, MANIFEST_NAME)) as [string, string];
  cpSync(from, to);
}

async function answer(order: Order): Promise<Answer> {
  try {
    await act(order);
    return { end: 'answered', reason: '' };
  } catch (thrown) {
    // Refused with a reason, or, where the trainer's own write failed, with the error of the system itself.
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
