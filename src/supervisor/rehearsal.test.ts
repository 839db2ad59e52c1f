import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeRunOptions } from '../../test/support/run-options.ts';
import { tempFolder } from '../../test/support/temp-folder.ts';
import { startAttempt } from '../checkpoint/store/attempt.ts';
import { openRun } from '../checkpoint/store/store.ts';
import { realClock } from '../core/clock.ts';
import type { RunHistory } from '../ledger/history.ts';
import { Book } from './book.ts';
import { Life } from './life.ts';
import { Notices } from './notices.ts';
import { Rehearsal } from './rehearsal.ts';
import { Sealer } from './sealing/sealer.ts';

/** A book that counts how often it was read. */
class CountedBook extends Book {
  reads = 0;

  override history(attempt: number): RunHistory {
    this.reads++;
    return super.history(attempt);
  }
}

let folder: ReturnType<typeof tempFolder>;
let said: string[];
let sealer: Sealer;
let book: CountedBook;

beforeEach(() => {
  folder = tempFolder();
  said = [];
});

afterEach(async () => {
  await book.close();
  await sealer.close();
  folder[Symbol.dispose]();
});

/** A life with one rank in its first step. */
async function makeLife() {
  const dir = join(folder.path, 'run');
  mkdirSync(dir);
  const options = makeRunOptions(dir, { command: ['true'], tmp: folder.path });
  const store = openRun(dir);
  const say = (text: string): unknown => said.push(text);
  const terminationLog = join(folder.path, 'last-words');
  book = new CountedBook({ dir, node: 'n', clock: realClock, terminationLog, say, shout: say });
  sealer = new Sealer({ dir, clock: realClock });
  const attempt = await startAttempt(store, { gang: 'a' });
  await book.open(attempt.attempt);
  const unheard = (): void => {};
  const told = { onSafe: unheard, onFirstStep: unheard, onFenced: unheard, onLeft: unheard };
  const life = new Life({ options, store, attempt, resume: null, book, sealer, stage: null, ...told });
  const rank = { rank: 0, world: 1, pid: process.pid, dumpSignal: null, send: unheard };
  life.onRank(rank);
  await life.attached;
  life.onMessage(rank, { type: 'step', step: 3, metrics: {} });
  const surrounding = { node: null, pressure: [], limits: [] };
  const notices = new Notices(realClock, options.grace, { onNotice: unheard, onWithdrawn: unheard }, () => surrounding);
  return { life, notices, dir, terminationLog, rehearsal: new Rehearsal({ store, options, notices, book, current: { life } }) };
}

/** Everything in a folder, with what files hold. */
function contents(dir: string): readonly string[] {
  const names = readdirSync(dir, { recursive: true, withFileTypes: true });
  return names.map((entry) => {
    const path = join(entry.parentPath, entry.name);
    return entry.isFile() ? `${path}: ${readFileSync(path, 'utf8')}` : path;
  });
}

describe('a rehearsal of a notice', () => {
  it('leaves no trace', async () => {
    const { rehearsal, notices, life, dir, terminationLog } = await makeLife();
    const [before, told] = [contents(dir), said.length];
    rehearsal.play();
    expect(contents(dir)).toEqual(before);
    expect(said).toHaveLength(told);
    expect(existsSync(terminationLog)).toBe(false);
    expect(notices).toMatchObject({ first: null, deadline: null });
    expect(life.desk.phase).toBe('idle');
  });

  it('reads what earlier attempts have taught, so that the notice need not', async () => {
    const { rehearsal, life } = await makeLife();
    rehearsal.play();
    expect(book.reads).toBe(1);
    expect(life.measured.write).toBeNull();
    expect(book.reads).toBe(1);
  });

  it('is not made once the real one has come', async () => {
    const { rehearsal, notices } = await makeLife();
    notices.hear('SIGTERM');
    rehearsal.play();
    expect(book.reads).toBe(0);
  });

  it('is told when it fails, and ends nothing', async () => {
    const { rehearsal, life } = await makeLife();
    Object.defineProperty(life, 'measured', {
      get: () => {
        throw new Error('a rule is broken');
      },
    });
    rehearsal.play();
    expect(said.at(-1)).toBe('error INTERNAL: a rule is broken');
  });

  it('waits until nothing else is to be done, and is not repeated at every save', async () => {
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

describe('a line that is said later', () => {
  it('comes before the next one, and without a next one all the same', async () => {
    await makeLife();
    said.length = 0;
    book.sayLater('first');
    expect(said).toEqual([]);
    book.say('second');
    book.sayLater('third');
    book.warn('fourth');
    book.sayLater('fifth');
    await new Promise((resolve) => setImmediate(resolve));
    book.sayLater('last');
    await book.close();
    expect(said).toEqual(['first', 'second', 'third', 'warning: fourth', 'fifth', 'last']);
  });
});
