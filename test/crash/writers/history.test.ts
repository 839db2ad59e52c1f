import { describe, expect, it } from 'vitest';
import { faultsOf, type HistoryEvent, type Place } from './history.ts';

const place = (attempt: number, step: number): Place => ({ attempt, step });
const at = (from: number, to: number | null): { from: bigint; to: bigint | null; process: string } => ({
  from: BigInt(from),
  to: to === null ? null : BigInt(to),
  process: 'p',
});
const commit = (from: number, to: number | null, where: Place, outcome: 'sealed' | 'refused' | 'unknown' = 'sealed'): HistoryEvent => ({
  ...at(from, to),
  kind: 'commit',
  place: where,
  outcome,
});
const read = (from: number, to: number, lastGood: Place | null): HistoryEvent => ({ ...at(from, to), kind: 'read', lastGood });
const attempt = (from: number, to: number, number: number, seen: Place[]): HistoryEvent => ({
  ...at(from, to),
  kind: 'attempt',
  attempt: number,
  seen,
});

describe('a history of last good', () => {
  it('may show a commit to a read that overlaps it, or not yet', () => {
    expect(faultsOf([commit(1, 5, place(1, 1)), read(2, 3, null), read(2, 4, place(1, 1))], [place(1, 1)])).toEqual([]);
  });

  it.each<[string, HistoryEvent[], Place[]]>([
    ['a read that misses a sealed checkpoint', [commit(1, 2, place(1, 1)), read(3, 4, null)], [place(1, 1)]],
    ['a read of what nobody committed yet', [read(1, 2, place(1, 1)), commit(3, 4, place(1, 1))], [place(1, 1)]],
    ['two reads that go back', [commit(1, 9, place(1, 1)), read(2, 3, place(1, 1)), read(4, 5, null)], [place(1, 1)]],
    ['a sealed checkpoint that is gone', [commit(1, 2, place(1, 1))], []],
    ['a refused checkpoint that is there', [commit(1, 2, place(1, 1), 'refused')], [place(1, 1)]],
    ['a checkpoint from nowhere', [], [place(1, 1)]],
    ['a late commit of an older attempt', [attempt(1, 2, 2, []), commit(3, 4, place(1, 1))], [place(1, 1)]],
    ['one attempt given twice', [attempt(1, 2, 2, []), attempt(3, 4, 2, [])], []],
  ])('is refused for %s', (_, history, sealed) => {
    expect(faultsOf(history, sealed)).not.toEqual([]);
  });

  it('may keep a seal of an older attempt that won the race against the fence', () => {
    expect(faultsOf([commit(1, 9, place(1, 1)), attempt(2, 5, 2, [place(1, 1)])], [place(1, 1)])).toEqual([]);
  });
});
