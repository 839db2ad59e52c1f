import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { MEMORY, tempFolder } from '../../test/support/temp-folder.ts';
import { VirtualClock } from '../core/clock.ts';
import type { HoldfastError } from '../core/errors.ts';
import type { LedgerEvent } from './events.ts';
import { ledgerFileName, ledgerFolder } from './ledger-files.ts';
import { readLedger } from './reader.ts';
import { type LedgerIo, type LedgerOptions, openLedger } from './writer.ts';

const note = (sentence: string): LedgerEvent => ({ kind: 'note', level: 'info', code: null, sentence });
const progress = (step: number): LedgerEvent => ({ kind: 'progress', step, stepMs: 500, loss: null, unsavedMs: null });
const hang: LedgerEvent = { kind: 'hang', quietMs: 1, limitMs: 1, sentence: 'x' };

/** The folder of an opened run, and a function that opens its ledger. */
function testRun(facts: Partial<LedgerOptions> = {}) {
  const folder = tempFolder(MEMORY);
  mkdirSync(join(folder.path, '.holdfast'));
  const clock = new VirtualClock();
  const failures: HoldfastError[] = [];
  const open = () => openLedger(folder.path, { attempt: 1, node: 'a', clock, onFailure: (error) => failures.push(error), ...facts });
  return { path: folder.path, clock, failures, open, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

const told = (run: string): string[] =>
  readLedger(run).events.map(({ event }) =>
    event.kind === 'note' ? event.sentence : event.kind === 'progress' ? `step ${event.step}` : event.kind,
  );

describe('the ledger of an attempt', () => {
  it.each([
    [0o755, 0o600],
    [0o2775, 0o640],
    [0o770, 0o640],
  ])('below a folder of mode %o has the mode %o, so that no other user reads it', async (folder, file) => {
    using run = testRun();
    chmodSync(run.path, folder);
    const writer = run.open();
    await writer.close();
    expect(statSync(writer.path).mode & 0o777).toBe(file);
  });

  it('keeps its events, and continues after them when it is opened again', async () => {
    using run = testRun();
    const first = run.open();
    first.append(note('one'));
    await first.close();
    const second = run.open();
    second.append(note('two'));
    await second.close();
    expect(readLedger(run.path).events.map(({ seq, attempt, node }) => [seq, attempt, node])).toEqual([
      [1, 1, 'a'],
      [2, 1, 'a'],
    ]);
    expect(told(run.path)).toEqual(['one', 'two']);
    expect(run.failures).toEqual([]);
  });

  it('holds progress back, and writes the newest before any other event', async () => {
    using run = testRun({ progressEveryMs: 1000 });
    const ledger = run.open();
    for (let step = 1; step <= 5; step++) ledger.append(progress(step));
    ledger.append(note('saved'));
    await run.clock.advance(1000);
    ledger.append(progress(6));
    ledger.append(progress(7));
    await ledger.close();
    expect(told(run.path)).toEqual(['step 1', 'step 5', 'saved', 'step 6', 'step 7']);
  });

  it('recovers from a cut at any byte: it keeps the intact lines and the later ones', async () => {
    using run = testRun();
    const ledger = run.open();
    for (const word of ['one', 'two', 'three']) ledger.append(note(word));
    await ledger.close();
    const bytes = readFileSync(ledger.path);
    const ends = [...bytes.entries()].flatMap(([at, byte]) => (byte === 10 ? [at] : []));
    for (let cut = 0; cut <= bytes.length; cut++) {
      writeFileSync(ledger.path, bytes);
      truncateSync(ledger.path, cut);
      const again = run.open();
      again.append(note('after'));
      await again.close();
      // A line that lacks only its newline counts as intact.
      const intact = ends.filter((end) => end <= cut).length;
      expect(told(run.path)).toEqual([...['one', 'two', 'three'].slice(0, intact), 'after']);
      expect(readLedger(run.path).events.at(-1)?.seq).toBe(intact + 1);
    }
  });

  it('continues after a full disk, reports it once, and loses only the events that could not be written', async () => {
    let mode: 'fine' | 'refuse' | 'short' = 'fine';
    const { writeSync, fsync } = await import('node:fs');
    const io: LedgerIo = {
      write(file, bytes) {
        if (mode === 'refuse') throw Object.assign(new Error('full'), { code: 'ENOSPC' });
        return writeSync(file, bytes.subarray(0, mode === 'short' ? 20 : bytes.length));
      },
      sync: fsync,
    };
    using run = testRun({ io });
    const ledger = run.open();
    ledger.append(note('before'));
    mode = 'short';
    ledger.append(note('torn'));
    mode = 'refuse';
    ledger.append(note('refused'));
    mode = 'fine';
    ledger.append(note('after'));
    mode = 'refuse';
    ledger.append(note('again refused'));
    mode = 'fine';
    await ledger.close();
    expect(told(run.path)).toEqual(['before', 'after']);
    expect(readLedger(run.path).files[0]).toMatchObject({ damaged: 1, isTorn: false });
    expect(run.failures.map(({ code, message }) => [code, message.replace(/^.*: /, '')])).toEqual([
      ['LEDGER_FAILED', 'ENOSPC'],
      ['LEDGER_FAILED', 'ENOSPC'],
    ]);
  });

  it('syncs only notices, decisions and ends, in the background, with one sync at a time for all lines of a turn', async () => {
    const waiting: ((error: Error | null) => void)[] = [];
    const io: LedgerIo = { write: (_, bytes) => bytes.length, sync: (_, done) => void waiting.push(done) };
    using run = testRun({ io });
    const ledger = run.open();
    ledger.append(progress(1));
    ledger.append(note('x'));
    expect(waiting).toHaveLength(0);
    ledger.append(hang);
    ledger.append(hang);
    // Events that come together are synced together.
    await nextTurn();
    expect(waiting).toHaveLength(1);
    ledger.append(hang);
    await nextTurn();
    expect(waiting).toHaveLength(1);
    let isSettled = false;
    const settled = ledger.settled().then(() => (isSettled = true));
    waiting[0]?.(null);
    await Promise.resolve();
    // An event that came during the sync needs one more.
    expect([waiting.length, isSettled]).toEqual([2, false]);
    waiting[1]?.(Object.assign(new Error('bad'), { code: 'EIO' }));
    await settled;
    expect(run.failures.map(({ message }) => message)).toEqual([expect.stringMatching(/cannot be synced: EIO$/)]);
  });

  it('may be closed twice, and records nothing afterwards', async () => {
    using run = testRun();
    const ledger = run.open();
    await ledger.close();
    await ledger.close();
    ledger.append(note('late'));
    expect(told(run.path)).toEqual([]);
  });

  it('is not opened in a folder without a run, nor through a link', () => {
    using folder = tempFolder(MEMORY);
    const options = { attempt: 1, node: 'a', clock: new VirtualClock(), onFailure: () => {} };
    expect(() => openLedger(folder.path, options)).toThrow('the run has no .holdfast folder');
    mkdirSync(ledgerFolder(folder.path), { recursive: true });
    const victim = join(folder.path, 'victim');
    writeFileSync(victim, 'precious');
    symlinkSync(victim, join(ledgerFolder(folder.path), ledgerFileName(1, 'a')));
    expect(() => openLedger(folder.path, options)).toThrow('cannot be opened: ELOOP');
    expect(readFileSync(victim, 'utf8')).toBe('precious');
    chmodSync(victim, 0o600);
  });

  it.each(['.holdfast', '.holdfast/ledger'])('is neither opened nor read where %s is a link to another folder', (place) => {
    using folder = tempFolder(MEMORY);
    using elsewhere = testRun();
    elsewhere.open().append(note('of another'));
    if (place !== '.holdfast') mkdirSync(join(folder.path, '.holdfast'));
    symlinkSync(join(elsewhere.path, place), join(folder.path, place));
    const options = { attempt: 2, node: 'b', clock: new VirtualClock(), onFailure: () => {} };
    expect(() => openLedger(folder.path, options)).toThrow('cannot be opened: ENOTDIR');
    expect(() => readLedger(folder.path)).toThrow('cannot be read: ENOTDIR');
    expect(readdirSync(ledgerFolder(elsewhere.path))).toHaveLength(1);
  });

  it('has a separate file for every attempt and node, whatever the node’s name', async () => {
    for (const node of ['gpu-7.example.org', '../../etc/passwd', 'a b\n漢', '']) {
      using run = testRun({ node });
      const ledger = run.open();
      ledger.append(note('here'));
      await ledger.close();
      expect(ledger.path.startsWith(`${ledgerFolder(run.path)}/1-`)).toBe(true);
      expect(readLedger(run.path).files.map((file) => [file.attempt, file.node])).toEqual([[1, node]]);
    }
  });
});
