import { expect } from 'vitest';
import type { Cell } from './cells.ts';
import { expectedOf, trainerEndsOf } from './expected.ts';
import { NOTICES } from './notices.ts';
import type { Played } from './play.ts';

/**
 * Compares the result with the contract: exit code, sealed step, ledger and termination message.
 */
export function check(cell: Cell, played: Played): void {
  const { notice, manner, kind } = cell;
  const outcome = expectedOf(cell);
  const { exitCode, end, cause, flush, sealed, printed, lastGoodStep } = played;
  expect({ exitCode, end, cause, flush, sealed }, printed).toEqual(outcome);
  const isOver = manner === 'container';
  expect(isOver ? [null] : trainerEndsOf(cell), printed).toContain(played.trainer);
  const given = notice === 'none' ? [] : [NOTICES[notice]];
  expect(played.notices, printed).toEqual(
    given.map(({ cause: told, terminating, from: source }) => ({ cause: told, terminating, source })),
  );
  expect(played.saves, printed).toEqual(kind === 'bare' ? [] : ['request', ...reasonsOf(cell)]);
  const word = { provisional: false, exitCode, end, cause, flush: flush ?? 'none', lastGoodStep };
  expect(played.message, printed).toEqual(isOver ? null : word);
  expect(played.kills > 0, printed).toBe(manner === 'ooms' || isOver);
  expect([played.daemons, /ended the processes that the trainer left behind/.test(printed)], printed).toEqual([
    0,
    manner === 'daemons' ? true : expect.any(Boolean),
  ]);
  expect(played.next, printed).toBe(isOver ? (lastGoodStep ?? 0) + 1 : null);
}

/**
 * The reasons of the saves after the first, which the trainer makes by itself. A trainer that hangs
 * starts none.
 */
function reasonsOf({ notice, manner }: Cell): readonly string[] {
  if (notice === 'none' || manner === 'hangs') return [];
  return [NOTICES[notice].terminating ? 'flush' : 'advice'];
}
