import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MEMORY, tempFolder } from '../../../test/support/temp-folder.ts';
import { VirtualClock } from '../../core/clock.ts';
import type { LedgerEvent } from '../../ledger/events.ts';
import { openLedger } from '../../ledger/writer.ts';
import { hasEndedNode } from './ended-node.ts';
import { interruptedPeer, unfinishedNode } from './interrupted-peer.ts';

const notice: LedgerEvent = {
  kind: 'notice',
  cause: 'sigterm',
  noticedMs: 0,
  deadlineMs: null,
  confidence: 'guess',
  terminating: true,
  source: 'signal',
  detail: null,
};
const ended = (saidFinished: boolean): LedgerEvent => ({ kind: 'trainer-ended', code: 0, signal: null, saidFinished });
const over: LedgerEvent = {
  kind: 'attempt-ended',
  exitCode: 143,
  end: 'interrupted',
  cause: 'sigterm',
  step: null,
  lastGoodStep: null,
  lostMs: null,
  lostSteps: null,
  accelerators: null,
  sentence: '',
};

/** A run of three nodes; this one is node 0. */
function gang() {
  const folder = tempFolder(MEMORY);
  mkdirSync(join(folder.path, '.holdfast'));
  const clock = new VirtualClock();
  const record = async (node: string, ...events: readonly LedgerEvent[]): Promise<void> => {
    const ledger = openLedger(folder.path, { attempt: 1, node, clock, onFailure: () => {} });
    for (const event of events) ledger.append(event);
    await ledger.close();
  };
  const siblings = { run: folder.path, attempt: 1, node: '0' };
  return { clock, record, siblings, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

describe('of the other nodes with a notice, the one that counts', () => {
  it('is one whose trainer has not finished', async () => {
    using made = gang();
    await made.record('1', notice, ended(true));
    expect(interruptedPeer(made.siblings)).toMatchObject({ node: '1', saidFinished: true });
    await made.record('2', notice);
    expect(interruptedPeer(made.siblings)).toMatchObject({ node: '2', saidFinished: false });
  });
});

describe('a node that has finished and has a notice', () => {
  const bounds = ({ clock }: { readonly clock: VirtualClock }) => ({ nodes: 3, boundMs: 10_000, clock });

  it('has finished if the trainers of all other nodes have', async () => {
    using made = gang();
    await made.record('1', ended(true));
    const asked = unfinishedNode(made.siblings, bounds(made));
    await made.clock.advance(500);
    await made.record('2', ended(true));
    await made.clock.advance(500);
    expect(await asked).toBeNull();
  });

  it('has not finished if another trainer ended without that word', async () => {
    using made = gang();
    await made.record('2', ended(false));
    expect(await unfinishedNode(made.siblings, bounds(made))).toBe('2');
  });

  it('has not finished if another node says nothing until its time is up', async () => {
    using made = gang();
    await made.record('1', ended(true));
    const asked = unfinishedNode(made.siblings, bounds(made));
    await made.clock.advance(10_000);
    expect(await asked).toBe('another node');
  });
});

it('a node counts as ended when its attempt has, and not when its trainer has', async () => {
  using made = gang();
  await made.record('1', ended(true));
  expect(hasEndedNode(made.siblings.run, 1)).toBe(false);
  await made.record('1', over);
  expect([hasEndedNode(made.siblings.run, 1), hasEndedNode(made.siblings.run, 2)]).toEqual([true, false]);
});
