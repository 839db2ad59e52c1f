import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Cell, cellsOf, LEFT_OUT } from '../support/contract/cells.ts';
import { check } from '../support/contract/check.ts';
import { type Row, writeWhenAsked } from '../support/contract/document.ts';
import { play } from '../support/contract/play.ts';
import { whyNoMemoryLimit } from '../support/memory-limit.ts';
import { Slots } from '../support/slots.ts';
import { whyNoNamespace } from '../support/supervised.ts';

const CELLS = cellsOf(['direct', 'shell']);
/**
 * Most of the time of a run is waiting for a poll or a deadline. Only the start uses a processor.
 */
const STARTING = 3;
vi.setConfig({ maxConcurrency: 30 });

const slots = new Slots(STARTING);
const rows: Row[] = [];
let noLimit: string | null;
beforeAll(async () => {
  noLimit = await whyNoMemoryLimit();
});
afterAll(() => writeWhenAsked('own', rows, CELLS));

/** The reason why this combination cannot run here, or null. */
function whyNot({ isFirst, manner }: Cell): string | null {
  if (isFirst && whyNoNamespace() !== null) return whyNoNamespace();
  return manner === 'ooms' || manner === 'container' ? noLimit : null;
}

describe('a run ends as the contract says', () => {
  for (const cell of CELLS) {
    const { wrapper, kind, manner, notice, isFirst } = cell;
    const name = `${notice}: ${manner}, ${kind}, ${wrapper}${isFirst ? ', PID 1' : ''}`;
    it.concurrent(name, { timeout: 10 * 60_000 }, async (context) => {
      const why = whyNot(cell);
      if (why !== null) return context.skip(why);
      const played = await play(cell, { slots });
      check(cell, played);
      rows.push({ cell, played });
    });
  }
});

it('every rule that excludes combinations from the matrix excludes some that no other rule does', () => {
  const all = cellsOf(['direct', 'shell', 'torchrun'], []);
  const needed = LEFT_OUT.filter((rule) => all.some((cell) => LEFT_OUT.every((other) => other.leavesOut(cell) === (other === rule))));
  expect(needed).toEqual(LEFT_OUT);
});
