import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { awkwardText } from '../../test/support/awkward-text.ts';
import { crc32c, hex32 } from '../core/checksums.ts';
import type { LedgerEvent, Recorded } from './events.ts';
import { decodeLine, encodeLine, MAX_LINE_BYTES } from './line.ts';

const note = (sentence: string): LedgerEvent => ({ kind: 'note', level: 'info', code: null, sentence });
const recorded = (event: LedgerEvent): Recorded<LedgerEvent> => ({ attempt: 3, node: 'node-a', seq: 7, atMs: 1_770_000_000_000, event });
const withoutNewline = (line: Buffer): Buffer => line.subarray(0, -1);

/** A line with a valid checksum, whatever its content. */
const sealed = (fields: string): Buffer => Buffer.from(`{"crc32c":"${hex32(crc32c(Buffer.from(fields)))}",${fields}`);

describe('a line of the ledger', () => {
  it('is JSON that begins with its checksum', () => {
    const line = encodeLine(recorded(note('hello'))).toString();
    expect(line).toMatch(/^\{"crc32c":"[0-9a-f]{8}","v":1,"attempt":3,"node":"node-a","seq":7,"atMs":1770000000000,"kind":"note",/);
    expect(JSON.parse(line)).toMatchObject({ sentence: 'hello' });
  });

  it('is read back as it was written, whatever its texts contain', () => {
    fc.assert(
      fc.property(awkwardText(), (text) => {
        expect(decodeLine(withoutNewline(encodeLine(recorded(note(text)))))).toEqual(recorded(note(text.toWellFormed())));
      }),
    );
  });

  it('contains no newline but the one that ends it', () => {
    fc.assert(
      fc.property(awkwardText(), (text) => {
        const line = encodeLine(recorded(note(text)));
        expect(line.indexOf(10)).toBe(line.length - 1);
      }),
    );
  });

  it('is damaged when any byte of it changes or is missing', () => {
    const line = withoutNewline(encodeLine(recorded(note('the flush made it'))));
    for (let at = 0; at < line.length; at++) {
      const changed = Buffer.from(line);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(decodeLine(changed)).toBeNull();
      expect(decodeLine(line.subarray(0, at))).toBeNull();
      expect(decodeLine(Buffer.concat([line.subarray(0, at), line.subarray(at + 1)]))).toBeNull();
    }
  });

  it.each([
    ['of an unknown kind', '"v":1,"attempt":1,"node":"a","seq":1,"atMs":5,"kind":"weather","is":"fine"}', 'weather', { is: 'fine' }],
    ['of a later version', '"v":2,"attempt":1,"node":"a","seq":1,"atMs":5,"kind":"note","text":"x"}', 'note', { text: 'x' }],
    [
      'of a known kind with an invalid field',
      '"v":1,"attempt":1,"node":"a","seq":1,"atMs":5,"kind":"hang","quietMs":"long"}',
      'hang',
      { quietMs: 'long' },
    ],
  ])('%s is kept as it is', (_, fields, name, kept) => {
    expect(decodeLine(sealed(fields))?.event).toEqual({ kind: 'unknown', name, fields: kept });
  });

  it('keeps the fields that a later version has added to a known kind', () => {
    const line = sealed('"v":1,"attempt":1,"node":"a","seq":1,"atMs":5,"kind":"trainer-started","pid":9,"restart":0,"cgroup":"x"}');
    expect(decodeLine(line)?.event).toEqual({ kind: 'trainer-started', pid: 9, restart: 0, cgroup: 'x' });
  });

  it.each([
    '"v":1}',
    '"v":1,"attempt":-1,"node":"a","seq":1,"atMs":5,"kind":"note"}',
    '"v":1,"attempt":1,"node":7,"seq":1,"atMs":5,"kind":"note"}',
    '"v":1,"attempt":1,"node":"a","seq":1,"atMs":1e300,"kind":"note"}',
    '"v":1,"attempt":1,"node":"a","seq":1.5,"atMs":1,"kind":"note"}',
    `"v":1,"attempt":1,"node":"a","seq":1,"atMs":5,"kind":"note","x":${'['.repeat(30_000)}`,
  ])('is refused when its frame is invalid and its checksum valid: %.60s', (fields) => {
    expect(decodeLine(sealed(fields))).toBeNull();
  });

  it('treats the names of built-in properties as unknown kinds and fields', () => {
    expect(
      decodeLine(sealed('"v":1,"attempt":1,"node":"a","seq":1,"atMs":5,"kind":"constructor","__proto__":{"level":"info"}}'))?.event.kind,
    ).toBe('unknown');
  });

  it('never exceeds the longest line, because its texts are cut', () => {
    for (const text of ['x'.repeat(1e6), '\u0000'.repeat(1e6), '漢'.repeat(1e5)]) {
      const line = encodeLine(recorded(note(text)));
      expect(line.length).toBeLessThanOrEqual(MAX_LINE_BYTES + 1);
      expect(decodeLine(withoutNewline(line))?.event.kind).toBe('note');
    }
    const command = Array.from({ length: 5000 }, () => 'y'.repeat(3000));
    const started: LedgerEvent = {
      kind: 'attempt-started',
      run: 'r',
      gang: 'g',
      version: '0',
      command,
      resumeStep: null,
      worldSize: 1,
      accelerators: 1,
      cadence: 'auto',
      graceMs: 1,
      graceFrom: 'default',
    };
    expect(decodeLine(withoutNewline(encodeLine(recorded(started))))?.event.kind).toBe('attempt-started');
  });
});
