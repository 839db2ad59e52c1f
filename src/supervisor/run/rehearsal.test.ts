import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeRunOptions } from '../../../test/support/run-options.ts';
import { tempFolder } from '../../../test/support/temp-folder.ts';
import { startAttempt } from '../../store/attempt/attempt.ts';
import { openRun } from '../../store/folder/store.ts';
import { realClock } from '../../core/clock.ts';
import type { RunHistory } from '../../ledger/history.ts';
import { RunLog } from '../base/run-log.ts';
import { TrainerSession } from '../session/trainer-session.ts';
import { Notices } from '../notices/notices.ts';
import { Rehearsal } from './rehearsal.ts';
import { Sealer } from '../saves/sealing/sealer.ts';

/** A run log that counts how often the history was read. */
class CountedBook extends RunLog {
  reads = 0;

  override history(attempt: number): RunHistory {
    this.reads++;
    return super.history(attempt);
  }
}

let folder: ReturnType<typeof tempFolder>;
let said: string[];
let sealer: Sealer;
let log: CountedBook;

beforeEach(() => {
  folder = tempFolder();
  said = [];
});

afterEach(async () => {
  await log.close();
  await sealer.close();
  folder[Symbol.dispose]();
});

/** Makes a trainer session with one rank in its first step. */
async function makeLife() {
  const dir = join(folder.path, 'run');
  mkdirSync(dir);
  const options = makeRunOptions(dir, { command: ['true'], tmp: folder.path });
  const store = openRun(dir);
  const say = (text: string): unknown => said.push(text);
  const terminationLog = join(folder.path, 'last-words');
  log = new CountedBook({ dir, node: 'n', clock: realClock, terminationLog, say, shout: say });
  sealer = new Sealer({ dir, clock: realClock });
  const attempt = await startAttempt(store, { gang: 'a' });
  await log.open(attempt.attempt);
  const unheard = (): void => {};
  const told = { onSafe: unheard, onFirstStep: unheard, onFenced: unheard, onLeft: unheard };
  const session = new TrainerSession({ options, store, attempt, resume: null, log, sealer, stage: null, counters: null, ...told });
  const rank = { rank: 0, world: 1, pid: process.pid, dumpSignal: null, send: unheard };
  session.onRank(rank);
  await session.attached;
  session.onMessage(rank, { type: 'step', step: 3, metrics: {} });
  const surrounding = { node: null, pressure: [], limits: [] };
  const notices = new Notices(realClock, options.grace, { onNotice: unheard, onWithdrawn: unheard }, () => surrounding);
  return { session, notices, dir, terminationLog, rehearsal: new Rehearsal({ store, options, notices, log, current: { session } }) };
}

/** Every path in a folder, with the content of files. */
function contents(dir: string): readonly string[] {
  const names = readdirSync(dir, { recursive: true, withFileTypes: true });
  return names.map((entry) => {
    const path = join(entry.parentPath, entry.name);
    return entry.isFile() ? `${path}: ${readFileSync(path, 'utf8')}` : path;
  });
}

describe('a rehearsal of a notice', () => {
  it('records and prints nothing, and changes no file', async () => {
    const { rehearsal, notices, session, dir, terminationLog } = await makeLife();
    const [before, told] = [contents(dir), said.length];
    rehearsal.play();
    expect(contents(dir)).toEqual(before);
    expect(said).toHaveLength(told);
    expect(existsSync(terminationLog)).toBe(false);
    expect(notices).toMatchObject({ first: null, deadline: null });
    expect(session.coordinator.phase).toBe('idle');
  });

  it('reads the history of earlier attempts, so that the notice need not', async () => {
    const { rehearsal, session } = await makeLife();
    rehearsal.play();
    expect(log.reads).toBe(1);
    expect(session.measured.write).toBeNull();
    expect(log.reads).toBe(1);
  });

  it('does not run once the real notice has come', async () => {
    const { rehearsal, notices } = await makeLife();
    notices.hear('SIGTERM');
    rehearsal.play();
    expect(log.reads).toBe(0);
  });

  it('logs its own failure and ends nothing', async () => {
    const { rehearsal, session } = await makeLife();
    Object.defineProperty(session, 'measured', {
      get: () => {
        throw new Error('a rule is broken');
      },
    });
    rehearsal.play();
    expect(said.at(-1)).toBe('error INTERNAL: a rule is broken');
  });

  it('waits until the event loop is idle, and does not run again at every save', async () => {
    const { rehearsal } = await makeLife();
    let plays = 0;
    rehearsal.play = (): void => void plays++;
    rehearsal.soon();
    rehearsal.soon();
    expect(plays).toBe(0);
    await new Promise((resolve) => setImmediate(resolve));
    expect(plays).toBe(1);
  });
});

describe('a log line that is deferred', () => {
  it('is printed before the next line, and also when no next line comes', async () => {
    await makeLife();
    said.length = 0;
    log.sayLater('first');
    expect(said).toEqual([]);
    log.say('second');
    log.sayLater('third');
    log.warn('fourth');
    log.sayLater('fifth');
    await new Promise((resolve) => setImmediate(resolve));
    log.sayLater('last');
    await log.close();
    expect(said).toEqual(['first', 'second', 'third', 'warning: fourth', 'fifth', 'last']);
  });
});
