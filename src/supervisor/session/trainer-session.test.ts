import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeRunOptions } from '../../../test/support/run-options.ts';
import { tempFolder } from '../../../test/support/temp-folder.ts';
import { startAttempt } from '../../store/attempt/attempt.ts';
import { openRun } from '../../store/folder/store.ts';
import { VirtualClock } from '../../core/clock.ts';
import { RunLog } from '../base/run-log.ts';
import { judge } from '../hang/watch-progress.ts';
import { TrainerSession } from './trainer-session.ts';
import type { Gang } from '../../domain/restart/gang.ts';
import type { Rank } from '../sdk/sdk-server.ts';
import { Sealer } from '../saves/sealing/sealer.ts';

const MINUTE = 60_000;
const RULES = { multiple: 20, leastMs: 5 * MINUTE, patientMs: 60 * MINUTE };

let folder: ReturnType<typeof tempFolder>;
let clock: VirtualClock;
let sealer: Sealer;
let log: RunLog;

beforeEach(() => {
  [folder, clock] = [tempFolder(), new VirtualClock()];
});

afterEach(async () => {
  await log.close();
  await sealer.close();
  folder[Symbol.dispose]();
});

function unheard(): void {}

const makeRank = (rank: number): Rank => ({ rank, world: 2, pid: process.pid, dumpSignal: null, send: unheard });

/** Starts a trainer session of two ranks that have each made a few steps of one second. */
async function twoRanks(
  gang: Gang | null = null,
): Promise<{ session: TrainerSession; first: Rank; second: Rank; isHung: () => boolean | undefined }> {
  const dir = join(folder.path, 'run');
  mkdirSync(dir);
  const options = { ...makeRunOptions(dir, { command: ['true'], tmp: folder.path }), gang };
  const store = openRun(dir, { clock });
  log = new RunLog({ dir, node: 'n', clock, terminationLog: null, say: unheard, shout: unheard });
  sealer = new Sealer({ dir, clock });
  const attempt = await startAttempt(store, { gang: 'a' });
  await log.open(attempt.attempt);
  const told = { onSafe: unheard, onFirstStep: unheard, onFenced: unheard, onLeft: unheard };
  const session = new TrainerSession({ options, store, attempt, resume: null, log, sealer, stage: null, counters: folder.path, ...told });
  const [first, second] = [makeRank(0), makeRank(1)];
  for (const rank of [first, second]) session.onRank(rank);
  await session.attached;
  for (let step = 0; step < 5; step++) {
    for (const rank of [first, second]) session.onMessage(rank, { type: 'step', step, metrics: {} });
    await clock.advance(1000);
  }
  return { session, first, second, isHung: () => judge({ session, rules: RULES, clock })?.isHung };
}

describe('two ranks that are asked for a save', () => {
  it('save on one node, whether they agree or not', async () => {
    expect((await twoRanks()).session.savesOnRequest).toBe(true);
  });

  it('save on several nodes only while both agree on its step', async () => {
    const { session, first, second } = await twoRanks({ id: 'job', nodes: 2, nodeRank: 0 });
    session.onMessage(first, { type: 'agrees', withinMs: 0 });
    expect(session.savesOnRequest).toBe(false);
    session.onMessage(second, { type: 'agrees', withinMs: 0 });
    expect(session.savesOnRequest).toBe(true);
    session.onMessage(second, { type: 'agrees', withinMs: null });
    expect(session.savesOnRequest).toBe(false);
  });
});

describe('two ranks, one of them busy,', () => {
  it('are not hung while the other is no longer busy and waits', async () => {
    const { session, first, second, isHung } = await twoRanks();
    for (const rank of [first, second]) session.onMessage(rank, { type: 'busy', what: 'evaluation' });
    session.onMessage(second, { type: 'busy', what: null });
    await clock.advance(30 * MINUTE);
    expect([isHung(), session.measured.busyMs(clock.monotonic())]).toEqual([false, 30 * MINUTE]);
    session.onMessage(first, { type: 'busy', what: null });
    await clock.advance(4 * MINUTE);
    expect(isHung()).toBe(false);
    await clock.advance(2 * MINUTE);
    expect(isHung()).toBe(true);
  });

  it('are not hung when the other makes a step', async () => {
    const { session, first, second, isHung } = await twoRanks();
    session.onMessage(second, { type: 'busy', what: 'evaluation' });
    session.onMessage(first, { type: 'step', step: 5, metrics: {} });
    await clock.advance(30 * MINUTE);
    expect(isHung()).toBe(false);
  });

  it.each(['makes a step', 'goes away'])(
    'are checked for a hang again when it %s, even if it never reports that it is back',
    async (how) => {
      const { session, first, second, isHung } = await twoRanks();
      session.onMessage(second, { type: 'busy', what: 'evaluation' });
      await clock.advance(30 * MINUTE);
      if (how === 'goes away') session.onGone(second);
      else for (const rank of [first, second]) session.onMessage(rank, { type: 'step', step: 5, metrics: {} });
      expect([isHung(), session.measured.busyMs(clock.monotonic())]).toEqual([false, null]);
      await clock.advance(6 * MINUTE);
      expect(isHung()).toBe(true);
    },
  );
});
