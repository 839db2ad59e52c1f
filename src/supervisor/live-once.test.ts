import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeRunOptions } from '../../test/support/run-options.ts';
import { isAlive } from '../../test/support/supervised.ts';
import { tempFolder } from '../../test/support/temp-folder.ts';
import { openRun } from '../checkpoint/store/store.ts';
import { realClock } from '../core/clock.ts';
import { exitOfRun } from '../domain/exit-contract.ts';
import { ledgerFileName, ledgerFolder } from '../ledger/layout.ts';
import { encodeLine } from '../ledger/line.ts';
import { readLedger } from '../ledger/reader.ts';
import { Book } from './book.ts';
import { type LifeEnd, liveOnce } from './live-once.ts';
import { Notices } from './notices.ts';
import { Sealer } from './sealing/sealer.ts';

/** Leaves something behind that does not end when it is asked to. */
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
  /** Told what people are told. */
  readonly hear?: (text: string, notices: Notices) => void;
  readonly onStarted?: (notices: Notices) => void;
  /** As the first of nodes that would share the folder. */
  readonly isTogether?: boolean;
  /** When something of ours throws: whenever words are left, the first time, or after the last ones. */
  readonly defect?: Defect;
}

type Defect = 'never' | 'always' | 'once' | 'at the end';

/** A book in which words cannot be left. */
class TornBook extends Book {
  #defect: Defect;

  constructor(options: ConstructorParameters<typeof Book>[0], defect: Defect) {
    super(options);
    this.#defect = defect;
  }

  override leave(message: Parameters<Book['leave']>[0]): void {
    const defect = this.#defect;
    if (defect === 'once' || (defect === 'at the end' && !message.provisional)) this.#defect = 'never';
    if (defect === 'at the end') super.leave(message);
    if (defect !== this.#defect || defect === 'always') throw new Error('a page is torn');
    if (defect === 'never') super.leave(message);
  }
}

/** One life of a trainer that is a shell script. */
async function live(script: string, { graceMs = 30_000, hear, onStarted, isTogether = false, defect = 'never' }: World): Promise<LifeEnd> {
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
  const book = new TornBook({ dir, node: 'n', clock: realClock, terminationLog, say, shout: say }, defect);
  const sealer = new Sealer({ dir, clock: realClock });
  const store = openRun(dir);
  const current = { life: null, trainer: null };
  const started = (): void => onStarted?.(notices);
  try {
    return await liveOnce({
      options,
      store,
      book,
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
    await book.close();
  }
}

/** Another node of the same attempt is told to end. */
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

/** What a trainer has written into a file of the test, once it is there. */
async function written(name: string): Promise<string> {
  const path = join(folder.path, name);
  while (!existsSync(path)) await new Promise((resolve) => setImmediate(resolve));
  return readFileSync(path, 'utf8').trim();
}

// What clings to life is given two seconds; processes take long to start on a busy machine.
describe('a notice that comes when the trainer has ended, and its saves are being settled', { timeout: 60_000 }, () => {
  const late = {
    hear: (text: string, notices: Notices): void => {
      if (text.startsWith('ended the processes')) notices.hear('SIGTERM');
    },
  };

  it('takes nothing back from a run that is finished', async () => {
    const end = await live(`${CLINGS} exit 0`, late);
    expect(end).toMatchObject({ isTerminating: false, trainer: { code: 0 } });
    expect(exitOfRun(end)).toMatchObject({ code: 0, kind: 'finished' });
    expect(JSON.parse(readFileSync(join(folder.path, 'last-words'), 'utf8'))).toMatchObject({ exitCode: 0, end: 'finished' });
  });

  it('excuses no error that nobody asked for, also when the trainer had said that it is finished', async () => {
    const end = await live(`${CLINGS} '${process.execPath}' -e '${SAYS_FINISHED.replaceAll("'", `'\\''`)}'; exit 7`, late);
    expect(end).toMatchObject({ saidFinished: true, isTerminating: false, trainer: { code: 7 } });
    expect(exitOfRun(end)).toMatchObject({ code: 7, kind: 'failed' });
  });

  it('to another node excuses no error of a trainer that had ended before it', async () => {
    const hear = (text: string): void => {
      if (text.startsWith('ended the processes')) tellOther();
    };
    const end = await live(`${CLINGS} exit 7`, { hear, isTogether: true });
    expect(end).toMatchObject({ peer: null, trainer: { code: 7 } });
  });
});

describe('a notice to another node before the trainer ends', { timeout: 60_000 }, () => {
  it('is the reason for its end', async () => {
    const end = await live('exit 1', { onStarted: tellOther, isTogether: true });
    expect(end).toMatchObject({ isTerminating: false, peer: { node: 'other', cause: 'sigterm' }, trainer: { code: 1 } });
  });
});

describe('after a defect of ours', { timeout: 60_000 }, () => {
  it('the end of the trainer is told, in the ledger and in the termination message', async () => {
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

  it('the end that was told before is left as it is', async () => {
    const end = await live('exit 3', { defect: 'at the end' });
    expect(end).toMatchObject({ trainer: { code: 3 } });
    expect(JSON.parse(readFileSync(join(folder.path, 'last-words'), 'utf8'))).toMatchObject({ exitCode: 3, end: 'failed', flush: 'none' });
    const events = readLedger(join(folder.path, 'run')).events.map(({ event }) => event.kind);
    expect(events.filter((kind) => kind === 'attempt-ended')).toHaveLength(1);
  });

  it('a trainer that does not end when it is told is killed before the deadline', async () => {
    const onStarted = async (notices: Notices): Promise<void> => {
      await written('deaf');
      notices.hear('SIGTERM');
    };
    const script = `trap '' TERM; : > '${folder.path}/deaf'; exec sleep 100`;
    const end = await live(script, { defect: 'always', graceMs: 1000, onStarted: (notices) => void onStarted(notices) });
    expect(end).toMatchObject({ isTerminating: true, trainer: { signal: 'SIGKILL' } });
  });

  it('what a trainer leaves behind is ended', async () => {
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
