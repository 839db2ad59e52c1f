import { describe, expect, it } from 'vitest';
import { Ranks } from './ranks.ts';
import type { ToRank } from './sdk/protocol.ts';
import type { Rank } from './sdk/server.ts';

function make(count: number): { ranks: Ranks; all: readonly Rank[]; said: ToRank[] } {
  const ranks = new Ranks();
  const said: ToRank[] = [];
  const all = Array.from({ length: count }, (_, rank) => ({
    rank,
    world: count,
    pid: 1,
    dumpSignal: null,
    send: (message: ToRank) => void said.push(message),
  }));
  for (const rank of all) ranks.add(rank);
  return { ranks, all, said };
}

const asked = (said: readonly ToRank[]): readonly (number | null)[] =>
  said.flatMap((message) => (message.type === 'save' ? [message.at] : []));

describe('the ranks of a run', () => {
  it('a single one saves at its next step', () => {
    const { ranks, said } = make(1);
    ranks.ask('cadence', 10);
    expect(asked(said)).toEqual([null]);
  });

  it('one that is gone while others go on is missed, until it is back or all have begun anew', () => {
    const { ranks, all } = make(3);
    const [first, second, third] = all as [Rank, Rank, Rank];
    ranks.remove(second);
    expect(ranks.lost).toEqual([1]);
    ranks.add(second);
    expect(ranks.lost).toEqual([]);
    for (const rank of all) ranks.remove(rank);
    for (const rank of [first, third]) ranks.add(rank);
    expect(ranks.lost).toEqual([]);
  });

  it('several save at a step that lies ahead of the furthest, by what happens until they hear of it', () => {
    const { ranks, all, said } = make(2);
    for (const [index, rank] of all.entries()) ranks.note(rank, 100 + index, 10);
    ranks.ask('notice', 10);
    expect(asked(said)).toEqual([143, 143]);
  });

  it('several save at a step that they come to soon, however quick steps seem whose reports were heard late and all at once', () => {
    const { ranks, all, said } = make(2);
    for (const step of [100, 112, 124, 137]) for (const rank of all) ranks.note(rank, step, 0.01);
    ranks.ask('notice', 0.01);
    // No more than they make between three reports, which are told a quarter of a second apart.
    expect(asked(said)).toEqual([165, 165]);
  });

  it('several that agree among themselves are asked without a step, and with one when they cannot any more', () => {
    const { ranks, all, said } = make(2);
    for (const rank of all) ranks.note(rank, 100, 10);
    for (const [index, rank] of all.entries()) ranks.agrees(rank, 300 * (index + 1), 10);
    expect([ranks.areAgreeing, ranks.agreementMs]).toEqual([true, 600]);
    ranks.ask('notice', 10);
    expect(asked(said)).toEqual([null, null]);
    ranks.agrees(all[1] as Rank, null, 10);
    expect([ranks.areAgreeing, ranks.agreementMs]).toEqual([false, 0]);
    expect(asked(said).slice(2)).toEqual([142, 142]);
  });

  it('a single one that agrees with those of other nodes needs the time for that too', () => {
    const { ranks, all, said } = make(1);
    expect(ranks.agreementMs).toBe(0);
    ranks.agrees(all[0] as Rank, 900, 10);
    expect(ranks.agreementMs).toBe(900);
    ranks.ask('notice', 10);
    expect(asked(said)).toEqual([null]);
    ranks.agrees(all[0] as Rank, null, 10);
    expect(ranks.agreementMs).toBe(0);
  });

  it('are busy as long as one of them is, and until it is gone', () => {
    const { ranks, all } = make(2);
    const [first, second] = all as [Rank, Rank];
    expect([ranks.noteBusy(first, true), ranks.noteBusy(first, true), ranks.noteBusy(second, true)]).toEqual([true, false, true]);
    expect([ranks.noteBusy(second, false), ranks.areBusy]).toEqual([true, true]);
    ranks.remove(first);
    expect(ranks.areBusy).toBe(false);
  });

  it('none that is left agrees with nobody', () => {
    const { ranks, all } = make(1);
    ranks.agrees(all[0] as Rank, 900, 10);
    ranks.remove(all[0] as Rank);
    expect(ranks.agreementMs).toBe(0);
  });

  it('several that have made no step yet are asked when the first one has', () => {
    const { ranks, all, said } = make(2);
    ranks.ask('notice', null);
    expect(said).toEqual([]);
    for (const rank of all) ranks.note(rank, 0, null);
    expect(asked(said)).toEqual([2, 2]);
  });

  it('a step that lies behind is asked for again further ahead, once for all who were past it', () => {
    const { ranks, all, said } = make(3);
    for (const rank of all) ranks.note(rank, 0, 100);
    ranks.ask('notice', 100);
    for (const rank of all) ranks.askLater(rank, { at: 6, step: 10 }, 100);
    expect(asked(said)).toEqual([6, 6, 6, 22, 22, 22]);
  });

  it('one that has just left the step that was asked for is past it', () => {
    const { ranks, all } = make(2);
    for (const rank of all) ranks.note(rank, 0, 100);
    ranks.ask('notice', 100);
    ranks.askLater(all[0] as Rank, { at: 6, step: 6 }, 100);
    expect(ranks.furthest).toBe(7);
  });

  it('are told when the save is not wanted any more, once', () => {
    const { ranks, said } = make(1);
    ranks.ask('asked', null);
    ranks.relax();
    ranks.relax();
    expect(said.filter(({ type }) => type === 'relax')).toHaveLength(1);
  });
});
