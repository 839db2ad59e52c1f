import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.ts';
import { openRun } from '../../store/folder/store.ts';
import { realClock } from '../../core/clock.ts';
import { HoldfastError } from '../../core/errors.ts';
import { makeNotice } from '../../domain/grace/notice.ts';
import { readLedger } from '../../ledger/reader.ts';
import { RunLog } from '../base/run-log.ts';
import { MessageWithoutTrainer } from './message-without-trainer.ts';

let folder: ReturnType<typeof tempFolder>;
let log: RunLog;

beforeEach(() => {
  folder = tempFolder();
  openRun(folder.path);
  log = new RunLog({ dir: folder.path, node: 'n', clock: realClock, terminationLog: null, say: () => {}, shout: () => {} });
});

afterEach(() => folder[Symbol.dispose]());

function makeWords(cause: 'ctrl-c' | null = 'ctrl-c'): MessageWithoutTrainer {
  const first = cause === null ? null : makeNotice({ cause, atMs: 0, source: 'signal' });
  return new MessageWithoutTrainer({ log, notices: { first, deadline: null }, clock: realClock });
}

async function ends() {
  await log.close();
  return readLedger(folder.path).events.flatMap(({ attempt, event }) => (event.kind === 'attempt-ended' ? [{ attempt, ...event }] : []));
}

describe('an attempt that ends while no trainer runs', () => {
  it('is recorded as interrupted, with the cause, when the notice came before its trainer was started', async () => {
    await log.open(3);
    makeWords().leaveInterrupted(null);
    const facts = { exitCode: 143, end: 'interrupted', cause: 'ctrl-c', lostMs: 0, lostSteps: 0, step: null };
    expect(await ends()).toMatchObject([{ attempt: 3, ...facts }]);
  });

  it('is recorded as refused, with the reason, when an error came after it was started', async () => {
    await log.open(3);
    makeWords(null).leaveRefused(new HoldfastError('SOCKET_FAILED', { message: 'no place' }));
    expect(await ends()).toMatchObject([{ exitCode: 73, end: 'refused', cause: null, sentence: 'SOCKET_FAILED: no place' }]);
  });

  it('has one recorded end, also when its trainer session recorded it before', async () => {
    await log.open(3);
    const lost = { step: 4, lastGoodStep: 2, lostMs: 5, lostSteps: 2, accelerators: 1 };
    log.record({ kind: 'attempt-ended', exitCode: 9, end: 'failed', cause: null, ...lost, sentence: 'failed' });
    makeWords().leaveInterrupted({ code: 9 });
    expect(await ends()).toMatchObject([{ exitCode: 9, end: 'failed' }]);
  });

  it('has no recorded end while the message is provisional, and none when no attempt was started', async () => {
    const words = makeWords();
    words.leaveInterrupted(null);
    await log.open(3);
    makeWords().leaveProvisional();
    expect(await ends()).toEqual([]);
  });
});
