import { describe, expect, it } from 'vitest';
import { Ranks } from './ranks.ts';
import type { ToRank } from '../sdk/protocol.ts';
import type { Rank } from '../sdk/sdk-server.ts';

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
  it('save at the next step when only one rank is connected', () => {
    const { ranks, said } = make(1);
    ranks.ask('cadence', 10);
    expect(asked(said)).toEqual([null]);
  });

  it('lack a rank that left while others train on, until it is back or all ranks restart', () => {
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

  it('save at a step far enough ahead of the furthest rank that the request arrives in time', () => {
    const { ranks, all, said } = make(2);
    for (const [index, rank] of all.entries()) ranks.note(rank, 100 + index, 10);
    ranks.ask('notice', 10);
    expect(asked(said)).toEqual([143, 143]);
  });

  it('save at a step that comes soon, even if delayed reports make steps look too quick', () => {
    const { ranks, all, said } = make(2);
    for (const step of [100, 112, 124, 137]) for (const rank of all) ranks.note(rank, step, 0.01);
    ranks.ask('notice', 0.01);
    // That is no further than they get between three reports, which are a quarter of a second
    // apart.
    expect(asked(said)).toEqual([165, 165]);
  });

  it('that agree among themselves are asked without a step, and with a step when they can no longer agree', () => {
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

  it('count the time to agree with other nodes, even when only one rank is on this node', () => {
    const { ranks, all, said } = make(1);
    expect(ranks.agreementMs).toBe(0);
    ranks.agrees(all[0] as Rank, 900, 10);
    expect(ranks.agreementMs).toBe(900);
    ranks.ask('notice', 10);
    expect(asked(said)).toEqual([null]);
    ranks.agrees(all[0] as Rank, null, 10);
    expect(ranks.agreementMs).toBe(0);
  });

  it('are busy as long as one of them is busy and connected', () => {
    const { ranks, all } = make(2);
    const [first, second] = all as [Rank, Rank];
    expect([ranks.noteBusy(first, true), ranks.noteBusy(first, true), ranks.noteBusy(second, true)]).toEqual([true, false, true]);
    expect([ranks.noteBusy(second, false), ranks.areBusy]).toEqual([true, true]);
    ranks.remove(first);
    expect(ranks.areBusy).toBe(false);
  });

  it('need no time to agree when no rank is left', () => {
    const { ranks, all } = make(1);
    ranks.agrees(all[0] as Rank, 900, 10);
    ranks.remove(all[0] as Rank);
    expect(ranks.agreementMs).toBe(0);
  });

  it('are asked to save only when the first rank has reported a step', () => {
    const { ranks, all, said } = make(2);
    ranks.ask('notice', null);
    expect(said).toEqual([]);
    for (const rank of all) ranks.note(rank, 0, null);
    expect(asked(said)).toEqual([2, 2]);
  });

  it('are asked once for a later step when several were already past the requested one', () => {
    const { ranks, all, said } = make(3);
    for (const rank of all) ranks.note(rank, 0, 100);
    ranks.ask('notice', 100);
    for (const rank of all) ranks.askLater(rank, { at: 6, step: 10 }, 100);
    expect(asked(said)).toEqual([6, 6, 6, 22, 22, 22]);
  });

  it('count a rank that has just left the requested step as past it', () => {
    const { ranks, all } = make(2);
    for (const rank of all) ranks.note(rank, 0, 100);
    ranks.ask('notice', 100);
    ranks.askLater(all[0] as Rank, { at: 6, step: 6 }, 100);
    expect(ranks.furthest).toBe(7);
  });

  it('get one message when the save is no longer needed', () => {
    const { ranks, said } = make(1);
    ranks.ask('asked', null);
    ranks.relax();
    ranks.relax();
    expect(said.filter(({ type }) => type === 'relax')).toHaveLength(1);
  });
});
