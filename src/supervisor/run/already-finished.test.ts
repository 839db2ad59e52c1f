import { join } from 'node:path';
import { mkdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { MEMORY, tempFolder } from '../../../test/support/temp-folder.ts';
import { VirtualClock } from '../../core/clock.ts';
import type { LedgerEvent } from '../../ledger/events.ts';
import { openLedger } from '../../ledger/writer.ts';
import { startAttempt } from '../../store/attempt/attempt.ts';
import { openRun } from '../../store/folder/store.ts';
import { finishedStep } from './already-finished.ts';

const COMMAND = ['python3', 'train.py'];
const begun: readonly LedgerEvent[] = [
  {
    kind: 'attempt-started',
    run: 'r',
    gang: 'g',
    version: '1',
    command: COMMAND,
    resumeStep: null,
    worldSize: null,
    accelerators: null,
    cadence: 'auto',
    graceMs: 1,
    graceFrom: 'default',
  },
  { kind: 'sdk-attached', rank: 0, worldSize: 1, python: null, framework: null },
];
const ended: LedgerEvent = {
  kind: 'attempt-ended',
  exitCode: 0,
  end: 'finished',
  cause: null,
  step: 59,
  lastGoodStep: 59,
  lostMs: 0,
  lostSteps: 0,
  accelerators: null,
  sentence: 'finished',
};

/** The step at which two nodes that recorded these events have finished. */
async function finishedBy(...nodes: readonly (readonly LedgerEvent[])[]): Promise<number | null> {
  using folder = tempFolder(MEMORY);
  const dir = join(folder.path, 'run');
  mkdirSync(dir);
  const store = openRun(dir);
  await startAttempt(store, { gang: 'g' });
  for (const [rank, events] of nodes.entries()) {
    const ledger = openLedger(dir, { attempt: 1, node: `node-${rank}`, clock: new VirtualClock(), onFailure: () => {} });
    for (const event of events) ledger.append(event);
    await ledger.close();
  }
  const options = { command: COMMAND, env: {}, trainsAgain: false, isWatched: false, gang: { id: 'g', nodes: 2, nodeRank: 0 } };
  return await finishedStep(store, { options, shipping: null, signal: new AbortController().signal });
}

it('a run of two nodes is finished when both have recorded that', async () => {
  expect(await finishedBy([...begun, ended], [...begun, ended])).toBe(59);
});

it('a run is not finished while a node has recorded no end, or was never heard of', async () => {
  expect(await finishedBy([...begun, ended], begun)).toBeNull();
  expect(await finishedBy([...begun, ended])).toBeNull();
});
