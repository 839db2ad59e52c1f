import { mkdirSync, appendFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MEMORY, tempFolder } from '../../test/support/temp-folder.ts';
import type { LedgerEvent, Recorded } from './events.ts';
import { ledgerFileName, ledgerFolder } from './ledger-files.ts';
import { encodeLine, MAX_LINE_BYTES } from './line.ts';
import { mergeEvents } from './merge.ts';
import { LedgerReader, readBeginning, readEnds, readLedger } from './reader.ts';

const note = (sentence: string): LedgerEvent => ({ kind: 'note', level: 'info', code: null, sentence });
const line = (attempt: number, node: string, seq: number, atMs = seq): Buffer =>
  encodeLine({ attempt, node, seq, atMs, event: note(`${attempt}${node}${seq}`) });

function testRun() {
  const folder = tempFolder(MEMORY);
  const ledger = ledgerFolder(folder.path);
  mkdirSync(ledger, { recursive: true });
  const file = (attempt: number, node: string): string => join(ledger, ledgerFileName(attempt, node));
  return { path: folder.path, ledger, file, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

const told = (events: readonly Recorded[]): string[] => events.map(({ event }) => (event.kind === 'note' ? event.sentence : event.kind));

describe('the ledger reader', () => {
  it('reads the newest part of every selected file, however long the other files are', () => {
    using run = testRun();
    const many = Array.from({ length: 20_000 }, (_, at) => line(2, 'a', at + 1));
    writeFileSync(run.file(2, 'a'), Buffer.concat(many));
    writeFileSync(run.file(2, 'b'), line(2, 'b', 1));
    writeFileSync(run.file(1, 'b'), line(1, 'b', 1));
    const ends = told(readEnds(run.path, ({ attempt }) => attempt === 2));
    expect(ends.length).toBeLessThan(10_000);
    expect([ends.at(-1), ends.includes('2b1'), ends.includes('1b1')]).toEqual(['2a20000', true, false]);
  });

  it('finds an event in the first part of the newest file that has it, however long the file is', () => {
    using run = testRun();
    writeFileSync(run.file(1, 'a'), line(1, 'a', 1));
    writeFileSync(run.file(2, 'a'), Buffer.concat(Array.from({ length: 20_000 }, (_, at) => line(2, 'a', at + 1))));
    writeFileSync(run.file(3, 'a'), 'nonsense');
    const find = (before: number, wanted: RegExp): string | null =>
      readBeginning(run.path, before, (recorded) => told([recorded]).find((sentence) => wanted.test(sentence)) ?? null);
    expect([find(4, /1/), find(2, /1/), find(1, /1/), find(4, /20000/)]).toEqual(['2a1', '1a1', null, null]);
  });

  it('returns no events for a run without a ledger', () => {
    using folder = tempFolder();
    expect(readLedger(folder.path)).toEqual({ events: [], files: [] });
  });

  it('merges the files of all attempts and nodes into one order', () => {
    using run = testRun();
    writeFileSync(run.file(2, 'a'), Buffer.concat([line(2, 'a', 1, 50), line(2, 'a', 2, 70)]));
    writeFileSync(run.file(1, 'b'), Buffer.concat([line(1, 'b', 1, 10), line(1, 'b', 2, 90)]));
    writeFileSync(run.file(1, 'a'), Buffer.concat([line(1, 'a', 1, 10), line(1, 'a', 2, 20)]));
    const { events, files } = readLedger(run.path);
    expect(told(events)).toEqual(['1a1', '1b1', '1a2', '1b2', '2a1', '2a2']);
    expect(files.map(({ attempt, node, events: count }) => [attempt, node, count])).toEqual([
      [1, 'a', 2],
      [1, 'b', 2],
      [2, 'a', 2],
    ]);
  });

  it('returns only the added events on a later read, also from new files', () => {
    using run = testRun();
    const reader = new LedgerReader(run.path);
    const half = line(1, 'a', 2);
    writeFileSync(run.file(1, 'a'), Buffer.concat([line(1, 'a', 1), half.subarray(0, 30)]));
    expect(told(reader.readMore().events)).toEqual(['1a1']);
    expect(told(reader.readMore().events)).toEqual([]);
    appendFileSync(run.file(1, 'a'), half.subarray(30));
    writeFileSync(run.file(2, 'b'), line(2, 'b', 1));
    expect(told(reader.readMore().events)).toEqual(['1a2', '2b1']);
  });

  it('skips and counts damaged lines, and keeps everything around them', () => {
    using run = testRun();
    const torn = line(1, 'a', 9).subarray(0, 40);
    const tooLong = Buffer.concat([Buffer.alloc(3 * MAX_LINE_BYTES, 'x'), Buffer.from('\n')]);
    const pieces = [line(1, 'a', 1), tooLong, line(1, 'a', 2), Buffer.from('{}\n\n'), line(7, 'a', 3), line(1, 'a', 4), torn];
    writeFileSync(run.file(1, 'a'), Buffer.concat(pieces));
    const { events, files } = readLedger(run.path);
    expect(told(events)).toEqual(['1a1', '1a2', '1a4']);
    expect(files[0]).toMatchObject({ events: 3, damaged: 3, isTorn: true });
  });

  it('skips links, pipes and folders among the files, and reports each', () => {
    using run = testRun();
    writeFileSync(run.file(1, 'a'), line(1, 'a', 1));
    symlinkSync(run.file(1, 'a'), run.file(2, 'link'));
    mkdirSync(run.file(3, 'folder'));
    spawnSync('mkfifo', [run.file(4, 'pipe')]);
    writeFileSync(join(run.ledger, 'notes.txt'), 'not ours');
    writeFileSync(join(run.ledger, '01-a.jsonl'), line(1, 'a', 1));
    const { events, files } = readLedger(run.path);
    expect(told(events)).toEqual(['1a1']);
    expect(files.map(({ node, problem }) => [node, problem])).toEqual([
      ['a', null],
      ['link', 'ELOOP'],
      ['folder', 'it is not a regular file'],
      ['pipe', 'it is not a regular file'],
    ]);
  });

  it('reads the newest part of a file that is too long', () => {
    using run = testRun();
    const lines = Array.from({ length: 4 }, (_, n) => line(1, 'a', n + 1));
    const padding = Buffer.concat([Buffer.alloc(33 * 1024 * 1024, 'x'), Buffer.from('\n')]);
    writeFileSync(run.file(1, 'a'), Buffer.concat([lines[0] as Buffer, padding, ...lines.slice(1)]));
    const { events, files } = readLedger(run.path);
    expect(told(events)).toEqual(['1a2', '1a3', '1a4']);
    expect(files[0]).toMatchObject({ isCut: true });
  });

  it.each([
    ['that ends with a newline', '\n'],
    ['that has no end', ''],
  ])('finds the events before a line of 50 MB %s', (_, end) => {
    using run = testRun();
    const garbage = Buffer.concat([Buffer.alloc(50 * 1024 * 1024, 'x'), Buffer.from(end)]);
    writeFileSync(run.file(1, 'a'), Buffer.concat([line(1, 'a', 1), line(1, 'a', 2), garbage]));
    const { events, files } = readLedger(run.path);
    expect(told(events)).toEqual(['1a1', '1a2']);
    expect(files[0]).toMatchObject({ events: 2, isCut: true });
  });

  it('continues at the new end of a file that became shorter', () => {
    using run = testRun();
    const reader = new LedgerReader(run.path);
    writeFileSync(run.file(1, 'a'), Buffer.concat([line(1, 'a', 1), line(1, 'a', 2)]));
    reader.readMore();
    truncateSync(run.file(1, 'a'), line(1, 'a', 1).length);
    expect(told(reader.readMore().events)).toEqual([]);
    appendFileSync(run.file(1, 'a'), line(1, 'a', 3));
    expect(told(reader.readMore().events)).toEqual(['1a3']);
  });

  it('never throws and never invents an event, whatever bytes are changed', () => {
    using run = testRun();
    const whole = Buffer.concat(Array.from({ length: 6 }, (_, n) => line(1, 'a', n + 1)));
    const valid = new Set(Array.from({ length: 6 }, (_, n) => `1a${n + 1}`));
    const change = fc.record({ at: fc.nat(whole.length - 1), bytes: fc.uint8Array({ maxLength: 8 }) });
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 6 }), fc.nat(whole.length), (changes, cut) => {
        const bytes = Buffer.from(whole);
        for (const { at, bytes: some } of changes) bytes.set(some.slice(0, bytes.length - at), at);
        writeFileSync(run.file(1, 'a'), bytes.subarray(0, cut));
        for (const sentence of told(readLedger(run.path).events)) expect(valid.has(sentence)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    ['that does not exist', '/no/such/run', 'PATH_NOT_FOUND'],
    ['that is a file', import.meta.filename, 'PATH_NOT_SUPPORTED'],
  ])('refuses a path %s', (_, path, code) => {
    expect(() => readLedger(path)).toThrow(expect.objectContaining({ code }) as Error);
  });
});

describe('the order of events', () => {
  it('is the same for any order of the files, and keeps each file’s own order even if its clock goes back', () => {
    const file = (node: string) =>
      fc
        .array(fc.nat(20), { maxLength: 8 })
        .map((times) => times.map((atMs, seq): Recorded => ({ attempt: 1, node, seq, atMs, event: note('x') })));
    fc.assert(
      fc.property(file('a'), file('b'), file('c'), (a, b, c) => {
        const merged = mergeEvents([a, b, c]);
        expect(mergeEvents([c, a, b])).toEqual(merged);
        for (const one of [a, b, c]) expect(merged.filter((recorded) => one.includes(recorded))).toEqual(one);
      }),
    );
  });
});
