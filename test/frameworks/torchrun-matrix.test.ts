import { afterAll, beforeAll, describe, it, vi } from 'vitest';
import { type Cell, cellsOf } from '../support/contract/cells.ts';
import { check } from '../support/contract/check.ts';
import { type Row, writeWhenAsked } from '../support/contract/document.ts';
import { play } from '../support/contract/play.ts';
import { whyNoMemoryLimit } from '../support/memory-limit.ts';
import { sliceOfCommit } from '../support/slice.ts';
import { Slots } from '../support/slots.ts';
import { whyNoNamespace } from '../support/supervised.ts';
import { findTorchrun, TORCHRUN_ENV } from './support/torchrun.ts';

const CELLS = cellsOf(['torchrun']);
const nameOf = ({ notice, manner, kind }: Cell): string => `${notice}: ${manner}, ${kind}`;
/**
 * Every cell takes a processor for seconds, so a commit plays some (`HOLDFAST_WHOLE=1`: all);
 * trainers without a launcher play all of theirs.
 */
const chosen = sliceOfCommit(CELLS.map(nameOf), 10);
/** A launcher takes a processor for seconds to load torch; then it waits. */
const STARTING = 2;
vi.setConfig({ maxConcurrency: 10 });

const slots = new Slots(STARTING);
const rows: Row[] = [];
let why: string | null;
let torchrun: readonly string[];
beforeAll(async () => {
  why = whyNoNamespace() ?? (await whyNoMemoryLimit());
  torchrun = [await findTorchrun(), '--standalone', '--nproc-per-node=2'];
});
afterAll(() => writeWhenAsked('torchrun', rows, CELLS));

describe('a run of a real torchrun ends as the contract says', () => {
  for (const cell of CELLS.filter((one) => chosen.has(nameOf(one)))) {
    it.concurrent(nameOf(cell), async (context) => {
      if (why !== null) return context.skip(why);
      const played = await play(cell, { torchrun, env: TORCHRUN_ENV, slots });
      check(cell, played);
      rows.push({ cell, played });
    });
  }
});
