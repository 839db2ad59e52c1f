import { expect, it } from 'vitest';
import { turnOf, session } from '../../test/queue/drive.ts';
import type { TurnAnswer } from './backend.ts';
import { DoneTallies } from './done-tallies.ts';
import type { StoreTransaction } from './store.ts';

const turns = [turnOf('q', session('a/1')), turnOf('r', session('a/2'))];
const answer = (...verdicts: readonly ('write' | 'same')[]): TurnAnswer => ({
  commits: verdicts.map((verdict) => ({ verdict, standing: null })),
  held: [],
  leases: [],
  isDrained: false,
  isPaused: false,
});

it('a rate counts each result once, before its tally is written and after', async () => {
  const tallies = new DoneTallies();
  tallies.add(turns, [answer('write', 'same', 'write'), answer('write')], 12_000);
  tallies.add(turns, [answer('write'), answer()], 17_000);
  expect([tallies.of('q', 0), tallies.of('q', 15_000), tallies.of('r', 0)]).toEqual([
    { done: 3, first: 10_000 },
    { done: 1, first: 15_000 },
    { done: 1, first: 10_000 },
  ]);
  const stored: unknown[] = [];
  // The queue r was dropped meanwhile.
  const rows = {
    queue: async (name: string) => (name === 'q' ? { id: 1, name, isPaused: false } : null),
    tally: async (...row: readonly unknown[]) => void stored.push(row),
  } as unknown as StoreTransaction;
  const forget = await tallies.write(rows);
  tallies.add(turns, [answer('write'), answer()], 17_000);
  forget();
  expect(stored).toEqual([
    [1, 10_000, 2],
    [1, 15_000, 1],
  ]);
  expect([tallies.of('q', 0), tallies.of('r', 0)]).toEqual([
    { done: 1, first: 15_000 },
    { done: 0, first: null },
  ]);
});
