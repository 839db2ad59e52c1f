import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeRunOptions } from '../../../test/support/run-options.ts';
import { isAlive } from '../../../test/support/supervised.ts';
import { tempFolder } from '../../../test/support/temp-folder.ts';
import { startAttempt } from '../../store/attempt/attempt.ts';
import { openRun } from '../../store/folder/store.ts';
import { realClock } from '../../core/clock.ts';
import { exitOfRun } from '../../domain/exit/exit-contract.ts';
import { ledgerFileName, ledgerFolder } from '../../ledger/ledger-files.ts';
import { encodeLine } from '../../ledger/line.ts';
import { readLedger } from '../../ledger/reader.ts';
import { RunLog } from '../base/run-log.ts';
import type { AttemptEnd } from './attempt-options.ts';
import { runAttempt } from './run-attempt.ts';
import { Notices } from '../notices/notices.ts';
import { Sealer } from '../saves/sealing/sealer.ts';

/** Leaves a process behind that ignores SIGTERM. */
const CLINGS = `trap '' TERM; sleep 100 & trap - TERM;`;
const SAYS_FINISHED = `
  const socket = require('node:net').connect(process.env.HOLDFAST_SOCKET);
  socket.end('{"type":"hello","protocol":"holdfast.sdk/1","rank":0,"world":1,"pid":' + process.pid + '}\\n{"type":"finish"}\\n');
  socket.resume().on('close', () => process.exit(1));`;

let folder: ReturnType<typeof tempFolder>;

beforeEach(() => {
  folder = tempFolder();
});

afterEach(() => folder[Symbol.dispose]());

interface World {
  readonly graceMs?: number;
  /** Receives every line of the log. */
  readonly hear?: (text: string, notices: Notices) => void;
  readonly onStarted?: (notices: Notices) => void;
  /** Runs as the first of several nodes that share the folder. */
  readonly isTogether?: boolean;
  /**
   * When writing the termination message throws: always, the first time, or after the last message.
   */
  readonly defect?: Defect;
}

type Defect = 'never' | 'always' | 'once' | 'at the end';

/** A log that cannot write the termination message. */
class TornBook extends RunLog {
  #defect: Defect;

  constructor(options: ConstructorParameters<typeof RunLog>[0], defect: Defect) {
    super(options);
    this.#defect = defect;
  }

  override leave(message: Parameters<RunLog['leave']>[0]): void {
    const defect = this.#defect;
    if (defect === 'once' || (defect === 'at the end' && !message.provisional)) this.#defect = 'never';
    if (defect === 'at the end') super.leave(message);
    if (defect !== this.#defect || defect === 'always') throw new Error('a page is torn');
    if (defect === 'never') super.leave(message);
  }
}

/** Runs one attempt with a shell script as the trainer. */
async function live(
  script: string,
  { graceMs = 30_000, hear, onStarted, isTogether = false, defect = 'never' }: World,
): Promise<AttemptEnd> {
  const dir = join(folder.path, 'run');
  await mkdir(dir);
  const alone = makeRunOptions(dir, { command: ['sh', '-c', script], graceMs, tmp: folder.path });
  const options = isTogether ? { ...alone, gang: { id: 'job', nodes: 1, nodeRank: 0 } } : alone;
  const notices = new Notices(realClock, options.grace, { onNotice: () => {}, onWithdrawn: () => {} }, () => ({
    node: null,
    pressure: [],
    limits: [],
  }));
  const say = (text: string): void => hear?.(text, notices);
  const terminationLog = join(folder.path, 'last-words');
  const log = new TornBook({ dir, node: 'n', clock: realClock, terminationLog, say, shout: say }, defect);
  const sealer = new Sealer({ dir, clock: realClock });
  const store = openRun(dir);
  const current = { session: null, trainer: null };
  const started = (): void => onStarted?.(notices);
  try {
    return await runAttempt({
      options,
      store,
      log,
      notices,
      current,
      sealer,
      stage: null,
      shipping: null,
      onStarted: started,
      onSafe: () => {},
      onFirstStep: () => {},
      cannotEnd: () => {},
      gang: folder.path,
      restart: 0,
      mayRestart: () => false,
    });
  } finally {
    await sealer.close();
    await log.close();
  }
}

/** Sends another node of the same attempt a notice. */
function tellOther(): void {
  const notice = {
    kind: 'notice',
    cause: 'sigterm',
    noticedMs: 1,
    deadlineMs: null,
    confidence: 'guess',
    terminating: true,
    source: 'signal',
    detail: null,
  } as const;
  const line = encodeLine({ attempt: 1, node: 'other', seq: 1, atMs: 1, event: notice });
  writeFileSync(join(ledgerFolder(join(folder.path, 'run')), ledgerFileName(1, 'other')), line);
}

/** Resolves to the contents of a file that the trainer writes, once it exists. */
async function written(name: string): Promise<string> {
  const path = join(folder.path, name);
  while (!existsSync(path)) await new Promise((resolve) => setImmediate(resolve));
  return readFileSync(path, 'utf8').trim();
}

// A process that ignores SIGTERM gets two seconds.
describe('a notice after the trainer has ended', () => {
  const late = {
    hear: (text: string, notices: Notices): void => {
      if (text.startsWith('ended the processes')) notices.hear('SIGTERM');
    },
  };

  it('leaves a finished run finished', async () => {
    const end = await live(`${CLINGS} exit 0`, late);
    expect(end).toMatchObject({ isTerminating: false, trainer: { code: 0 } });
    expect(exitOfRun(end)).toMatchObject({ code: 0, kind: 'finished' });
    expect(JSON.parse(readFileSync(join(folder.path, 'last-words'), 'utf8'))).toMatchObject({ exitCode: 0, end: 'finished' });
  });

  it('does not turn an earlier error into an interruption, even if the trainer had reported that it is finished', async () => {
    const end = await live(`${CLINGS} '${process.execPath}' -e '${SAYS_FINISHED.replaceAll("'", `'\\''`)}'; exit 7`, late);
    expect(end).toMatchObject({ saidFinished: true, isTerminating: false, trainer: { code: 7 } });
    expect(exitOfRun(end)).toMatchObject({ code: 7, kind: 'failed' });
  });

  it('to another node does not turn an earlier error into an interruption', async () => {
    const hear = (text: string): void => {
      if (text.startsWith('ended the processes')) tellOther();
    };
    const end = await live(`${CLINGS} exit 7`, { hear, isTogether: true });
    expect(end).toMatchObject({ peer: null, trainer: { code: 7 } });
  });

  it('leaves a termination message that says which work is safe', async () => {
    await live('exit 7', {});
    const { sentence } = JSON.parse(readFileSync(join(folder.path, 'last-words'), 'utf8')) as { readonly sentence: string };
    expect(sentence).toBe('the trainer failed with exit code 7; nothing is sealed');
  });
});

describe('a notice to another node before the trainer ends', () => {
  it('is the cause of its end', async () => {
    const end = await live('exit 1', { onStarted: tellOther, isTogether: true });
    expect(end).toMatchObject({ isTerminating: false, peer: { node: 'other', cause: 'sigterm' }, trainer: { code: 1 } });
  });
});

describe('an attempt that a newer one has replaced', () => {
  it('exits with 5 whatever its trainer exits with, even without a fence notice', async () => {
    const onStarted = async (): Promise<void> => {
      await startAttempt(openRun(join(folder.path, 'run')), { gang: 'newer' });
      writeFileSync(join(folder.path, 'replaced'), '');
    };
    const script = `while [ ! -e '${folder.path}/replaced' ]; do sleep 0.02; done; exit 1`;
    const end = await live(script, { onStarted: () => void onStarted() });
    expect(exitOfRun(end)).toMatchObject({ code: 5, kind: 'refused' });
    expect(JSON.parse(readFileSync(join(folder.path, 'last-words'), 'utf8'))).toMatchObject({ exitCode: 5, end: 'refused' });
  });

  it('differs from an attempt whose folder was removed', async () => {
    const end = await live(`rm -rf '${folder.path}/run/.holdfast/attempts'; exit 7`, {});
    expect(exitOfRun(end)).toMatchObject({ code: 7, kind: 'failed' });
  });
});

describe('after a defect in the supervisor', () => {
  it('the end of the trainer is reported in the ledger and in the termination message', async () => {
    const onStarted = (notices: Notices): void => notices.hear('SIGTERM');
    await live('exec sleep 100', { defect: 'once', onStarted });
    expect(JSON.parse(readFileSync(join(folder.path, 'last-words'), 'utf8'))).toMatchObject({
      provisional: false,
      exitCode: 143,
      end: 'interrupted',
      trainer: { signal: 'SIGTERM' },
      flush: null,
    });
    const events = readLedger(join(folder.path, 'run')).events.map(({ event }) => event.kind);
    expect(events.slice(-2)).toEqual(['trainer-ended', 'attempt-ended']);
  });

  it('an end that was reported before stays as it is', async () => {
    const end = await live('exit 3', { defect: 'at the end' });
    expect(end).toMatchObject({ trainer: { code: 3 } });
    expect(JSON.parse(readFileSync(join(folder.path, 'last-words'), 'utf8'))).toMatchObject({ exitCode: 3, end: 'failed', flush: 'none' });
    const events = readLedger(join(folder.path, 'run')).events.map(({ event }) => event.kind);
    expect(events.filter((kind) => kind === 'attempt-ended')).toHaveLength(1);
  });

  it('a trainer that ignores SIGTERM is killed before the deadline', async () => {
    const onStarted = async (notices: Notices): Promise<void> => {
      await written('deaf');
      notices.hear('SIGTERM');
    };
    const script = `trap '' TERM; : > '${folder.path}/deaf'; exec sleep 100`;
    const end = await live(script, { defect: 'always', graceMs: 1000, onStarted: (notices) => void onStarted(notices) });
    expect(end).toMatchObject({ isTerminating: true, trainer: { signal: 'SIGKILL' } });
  });

  it('processes that a trainer leaves behind are ended', async () => {
    const onStarted = async (notices: Notices): Promise<void> => {
      await written('left');
      notices.hear('SIGTERM');
    };
    const script = `${CLINGS} echo $! > '${folder.path}/new'; mv '${folder.path}/new' '${folder.path}/left'; exec sleep 100`;
    const end = await live(script, { defect: 'always', onStarted: (notices) => void onStarted(notices) });
    expect(end).toMatchObject({ isTerminating: true, trainer: { signal: 'SIGTERM' } });
    expect(isAlive(Number(await written('left')))).toBe(false);
  });
});
