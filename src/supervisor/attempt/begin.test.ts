import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeRunOptions } from '../../../test/support/run-options.ts';
import { seal, sealSteps } from '../../../test/support/sealed-run.ts';
import { tempFolder } from '../../../test/support/temp-folder.ts';
import { DirectoryStore } from '../../remote/backends/directory/directory-store.ts';
import { openJournal } from '../../remote/copy/journal.ts';
import { UNLIMITED } from '../../remote/transfer/rate-limit.ts';
import { shipCheckpoint } from '../../remote/copy/ship.ts';
import { lastGood } from '../../store/resume/last-good.ts';
import { findSealed, rollBack } from '../../store/attempt/roll-back.ts';
import { openRun, type OpenStore } from '../../store/folder/store.ts';
import { realClock } from '../../core/clock.ts';
import { readLedger } from '../../ledger/reader.ts';
import { openLedger } from '../../ledger/writer.ts';
import { begin, type Beginning } from './begin.ts';
import { RunLog } from '../base/run-log.ts';
import type { Begun } from '../nodes/meet.ts';
import { Notices } from '../notices/notices.ts';
import { Sealer } from '../saves/sealing/sealer.ts';
import { Shipping } from '../shipping/shipping.ts';
import { makeImage, markOf } from '../saves/staging/image.ts';
import { makeStageFolder } from '../saves/staging/stage-folder.ts';
import type { Stage } from '../saves/staging/stage.ts';

let folder: ReturnType<typeof tempFolder>;
let told: string[];
let copies: string;
/**
 * Makes two folders of one run, one on each node, with the same checkpoints. The first node's
 * decision lies beside the copies.
 */
let first: OpenStore;
let other: OpenStore;

beforeEach(async () => {
  folder = tempFolder();
  told = [];
  copies = join(folder.path, 'copies');
  mkdirSync(join(folder.path, 'first'));
  first = openRun(join(folder.path, 'first'));
  await sealSteps(first, 'a', 100, 200);
  await ship();
  cpSync(first.path, join(folder.path, 'other'), { recursive: true });
  other = openRun(join(folder.path, 'other'));
  // Each node starts an attempt, so the decision covers attempts that the other node has not seen.
  for (let times = 0; times < 3; times++) await rollBack(first, findSealed(first, '100'));
  await ship();
});

afterEach(() => folder[Symbol.dispose]());

/** Sends the first node's newest valid checkpoint, and the decision. */
async function ship(): Promise<void> {
  const stop = new AbortController();
  const remote = new DirectoryStore({ url: `file://${copies}`, path: copies, clock: realClock, signal: stop.signal });
  const { checkpoint } = await lastGood(first);
  if (checkpoint === null) throw new Error('nothing is sealed');
  const how = { limit: UNLIMITED, parallel: 1, clock: realClock };
  await shipCheckpoint(checkpoint, { store: first, remote, stop, journal: openJournal(first.path, remote.url), ...how });
}

/** Starts the next attempt of the run on the other node. */
async function beginThere(parts: Partial<Beginning> = {}): Promise<Begun> {
  const dir = other.path;
  const say = (text: string): void => void told.push(text);
  const options = makeRunOptions(dir, { command: ['true'], tmp: folder.path });
  const notices = new Notices(realClock, options.grace, { onNotice: () => {}, onWithdrawn: () => {} }, () => ({
    node: null,
    pressure: [],
    limits: [],
  }));
  const terminationLog = join(folder.path, 'last-words');
  const log = new RunLog({ dir, node: 'n', clock: realClock, terminationLog, say, shout: say });
  const sealer = new Sealer({ dir, clock: realClock });
  const settings = { location: { kind: 'file', url: `file://${copies}`, path: copies }, limit: null } as const;
  const shipping = await Shipping.open(settings, options, { clock: realClock, log, notices });
  const live: Beginning = { options, store: other, log, notices, sealer, shipping, stage: null, restart: 0, ...parts };
  try {
    return await begin(live, 'next', new AbortController().signal);
  } finally {
    await sealer.close();
    await log.close();
  }
}

describe('a run that was rolled back on another node', () => {
  it('continues in an attempt whose saves count, even if the copies gave its own node no number', async () => {
    // It moved the pointer last, as far as it knows, so it may do without a number of the copies.
    const ledger = openLedger(other.path, { attempt: 1, node: 'n', clock: realClock, onFailure: () => {} });
    ledger.append({ kind: 'shipped', step: 200, url: `file://${copies}`, bytes: 1, totalMs: 1 });
    await ledger.close();
    // A file lies where the folder of the numbers should be.
    const numbers = join(copies, '.holdfast/attempt-numbers');
    rmSync(numbers, { recursive: true, force: true });
    mkdirSync(dirname(numbers), { recursive: true });
    writeFileSync(numbers, '');
    const { attempt, resume } = await beginThere();
    expect(resume).toMatchObject({ step: 100 });
    await seal(other, attempt, { step: 150 });
    expect((await lastGood(other)).checkpoint?.manifest).toMatchObject({ step: 150, attempt: attempt.attempt });
    expect(told.filter((text) => text.includes('the run continues in another'))).toHaveLength(1);
    const ended = readLedger(other.path).events.filter(({ event }) => event.kind === 'attempt-ended');
    expect(ended).toMatchObject([{ attempt: 2, event: { end: 'refused' } }]);
  });

  it('continues in the first attempt if the copies gave it a number', async () => {
    const { attempt, resume } = await beginThere();
    expect([attempt.attempt, resume?.step]).toEqual([5, 100]);
    expect(told).toEqual([expect.stringContaining('the run was rolled back at')]);
  });

  it('does not seal a staged save of an attempt that it was rolled back from', async () => {
    const stage = { parent: folder.path, path: join(folder.path, 'stage'), isShared: false };
    makeStageFolder(stage);
    const facts = { run: other.run, attempt: 1, save: 'left', step: 250, worldSize: 1 };
    const image = makeImage(stage.path, facts, { ranks: 1, owner: null, dir: other.path });
    writeFileSync(join(image.data, 'state'), 'step 250');
    writeFileSync(markOf(image, 0), '');
    const { resume } = await beginThere({ stage: { folder: stage } as unknown as Stage });
    expect(resume).toMatchObject({ step: 100 });
  });
});
