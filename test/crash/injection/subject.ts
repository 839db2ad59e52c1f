import { closeSync, existsSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { adopt } from '../../../src/checkpoint/store/adopt.ts';
import { type DurableFs, realFs } from '../../../src/checkpoint/store/durable-fs.ts';
import { removeTree } from '../../../src/checkpoint/store/delete-tree.ts';
import { prune } from '../../../src/checkpoint/store/prune.ts';
import { HoldfastError } from '../../../src/core/errors.ts';
import { createRng } from '../../../src/core/rng.ts';
import { openWith, saveSteps } from '../store-driver.ts';
import type { Call } from './strace.ts';
import { stumble } from './stumble.ts';
import { mark } from './trace.ts';
import { SUBJECT_STEP, type Subject } from './subjects.ts';

/**
 * `node subject.ts save|seal|prune BYTES RANKS plain|sabotage CALL SPAN WARM RUN…`: does it once in each of the runs, between marks that a trace
 * shows. The first is there so that everything is loaded before a fault can come; before each after the second the call is used up to SPAN times
 * for nothing, so that faults at every so many uses come to a different one of each run.
 */
const [subject = '', bytes = '', ranks = '', manner = '', call = '', span = '', ...runs] = process.argv.slice(2);

const PIECE_BYTES = 16 * 1024;

/** Writes in pieces, as frameworks do, so that a kill lands inside of a file. */
const fs: DurableFs = { ...realFs, writeFile: inPieces };

function inPieces(path: string, data: Uint8Array | string): void {
  const content = Buffer.from(data);
  const file = openSync(path, 'wx');
  for (let done = 0; done < content.length; ) done += writeSync(file, content, done, Math.min(PIECE_BYTES, content.length - done));
  closeSync(file);
}

async function act(run: string): Promise<void> {
  const store = openWith(fs, run, 'subject');
  switch (subject as Subject) {
    case 'save':
      // What tools do that make room first.
      if (manner === 'sabotage') for (const step of [1, 2, 3]) removeTree(fs, join(run, `step-${step}`));
      await saveSteps(store, 'gang', [SUBJECT_STEP], { worldSize: Number(ranks), bytes: Number(bytes) });
      return;
    case 'seal':
      await adopt(store, join(run, 'checkpoint-2'), { accept: 'anything', step: SUBJECT_STEP, worldSize: Number(ranks) });
      return;
    case 'prune':
      await prune(store, { retention: { last: 1, every: null, withinMs: null } });
      return;
  }
}

const rng = createRng(runs.length);
for (const [index, run] of runs.entries()) {
  existsSync(mark('stumbles', index));
  if (index > 1) stumble(call as Call, rng.integer(0, Number(span)));
  existsSync(mark('begins', index));
  try {
    await act(run);
    existsSync(mark('answered', index));
  } catch (thrown) {
    // Refused with a reason, or, where the trainer's own write failed, with the error of the system itself.
    const isRefused = thrown instanceof HoldfastError || (thrown instanceof Error && 'errno' in thrown);
    existsSync(mark(isRefused ? 'refused' : `failed-${String(thrown)}`, index));
  }
}
existsSync(mark('stumbles', runs.length));
