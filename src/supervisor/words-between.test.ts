import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tempFolder } from '../../test/support/temp-folder.ts';
import { openRun } from '../checkpoint/store/store.ts';
import { realClock } from '../core/clock.ts';
import { HoldfastError } from '../core/errors.ts';
import { makeNotice } from '../domain/notice.ts';
import { readLedger } from '../ledger/reader.ts';
import { Book } from './book.ts';
import { WordsBetween } from './words-between.ts';

let folder: ReturnType<typeof tempFolder>;
let book: Book;

beforeEach(() => {
  folder = tempFolder();
  openRun(folder.path);
  book = new Book({ dir: folder.path, node: 'n', clock: realClock, terminationLog: null, say: () => {}, shout: () => {} });
});

afterEach(() => folder[Symbol.dispose]());

function makeWords(cause: 'ctrl-c' | null = 'ctrl-c'): WordsBetween {
  const first = cause === null ? null : makeNotice({ cause, atMs: 0, source: 'signal' });
  return new WordsBetween({ book, notices: { first, deadline: null }, clock: realClock });
}

async function ends() {
  await book.close();
  return readLedger(folder.path).events.flatMap(({ attempt, event }) => (event.kind === 'attempt-ended' ? [{ attempt, ...event }] : []));
}

describe('an attempt that ends while no trainer runs', () => {
  it('told to end before its trainer was started, has ended in the ledger, by the hand that ended it', async () => {
    await book.open(3);
    makeWords().leaveInterrupted(null);
    const facts = { exitCode: 143, end: 'interrupted', cause: 'ctrl-c', lostMs: 0, lostSteps: 0, step: null };
    expect(await ends()).toMatchObject([{ attempt: 3, ...facts }]);
  });

  it('refused after it was begun, has ended in the ledger with the reason', async () => {
    await book.open(3);
    makeWords(null).leaveRefused(new HoldfastError('SOCKET_FAILED', { message: 'no place' }));
    expect(await ends()).toMatchObject([{ exitCode: 73, end: 'refused', cause: null, sentence: 'SOCKET_FAILED: no place' }]);
  });

  it('has one end, also where its life told of it before', async () => {
    await book.open(3);
    const lost = { step: 4, lastGoodStep: 2, lostMs: 5, lostSteps: 2, accelerators: 1 };
    book.record({ kind: 'attempt-ended', exitCode: 9, end: 'failed', cause: null, ...lost, sentence: 'failed' });
    makeWords().leaveInterrupted({ code: 9 });
    expect(await ends()).toMatchObject([{ exitCode: 9, end: 'failed' }]);
  });

  it('leaves none while the notice is only noted, and none where no attempt was begun', async () => {
    const words = makeWords();
    words.leaveInterrupted(null);
    await book.open(3);
    makeWords().leaveProvisional();
    expect(await ends()).toEqual([]);
  });
});
