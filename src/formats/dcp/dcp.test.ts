import { appendFileSync, cpSync, mkdtempSync, readFileSync, renameSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { inspectPath } from '../../../test/support/inspect.ts';
import { crc32, hex32 } from '../../core/checksums.ts';
import type { Findings } from '../reading/findings.ts';

const FIXTURES = fileURLToPath(new URL('../../../test/fixtures/whole', import.meta.url));

let folder: string;
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'holdfast-dcp-')), 'step-100');
  use('dcp-4-ranks');
});
afterEach(() => rmSync(join(folder, '..'), { recursive: true }));

function use(fixture: string): void {
  rmSync(folder, { recursive: true, force: true });
  cpSync(join(FIXTURES, fixture, 'data/step-100'), folder, { recursive: true, preserveTimestamps: true });
}

function inspect(): Findings {
  const { format, findings } = inspectPath(folder);
  expect(format).toBe('dcp');
  return findings;
}

/**
 * The codes besides the warning about write times. The test's edit is always later than the marker.
 */
function found(): Findings['evidence'] {
  return inspect().evidence.filter(({ code }) => code !== 'NEWER_THAN_MARKER');
}

function codes(): readonly string[] {
  return found().map(({ code }) => code);
}

function edit(name: string, change: (bytes: Buffer) => Buffer | void): void {
  const path = join(folder, name);
  const bytes = readFileSync(path);
  writeFileSync(path, change(bytes) ?? bytes);
}

describe('a whole distributed checkpoint', () => {
  it.each(['dcp-single', 'dcp-4-ranks'])('%s passes every check and has checksums over all its tensors', (fixture) => {
    use(fixture);
    const findings = inspect();
    expect(findings.evidence.filter(({ effect }) => effect !== 'note')).toEqual([]);
    expect(findings.checks.reduce((sum, check) => sum + check.payloadBytes, 0)).toBe(findings.payloadBytes);
    expect(findings.content.steps).toMatchObject([{ step: 100 }]);
    for (const need of ['weights', 'optimizer', 'scheduler', 'rng'] as const) expect(findings.content.found[need], need).not.toEqual([]);
    for (const { file, offset, length, expected } of findings.checks) {
      const bytes = readFileSync(join(folder, file)).subarray(offset, offset + length);
      expect(hex32(crc32(bytes))).toBe(expected);
    }
  });

  it('lists the ranks whose random state is present', () => {
    const { content } = inspect();
    expect(content.rngRanks.found.toSorted()).toEqual([0, 1, 2, 3]);
    expect(content.worldSize).toBe(4);
  });

  it('lists no checksums when the writer stored none', () => {
    use('dcp-nocrc');
    const findings = inspect();
    expect(findings.checks).toEqual([]);
    expect(findings.payloadBytes).toBeGreaterThan(0);
    expect(findings.evidence).toMatchObject([{ code: 'TORCH_NO_CHECKSUMS' }]);
  });
});

describe('a damaged distributed checkpoint', () => {
  it.each([
    ['without its marker', () => rmSync(join(folder, '.metadata')), ['DCP_NO_METADATA']],
    ['with an empty marker', () => truncateSync(join(folder, '.metadata')), ['DCP_METADATA_EMPTY']],
    ['with half a marker', () => truncateSync(join(folder, '.metadata'), 6000), ['PICKLE_TRUNCATED']],
    ['with a marker of zeros', () => edit('.metadata', (bytes) => void bytes.fill(0)), ['PICKLE_INVALID']],
    ['without one of its shards', () => rmSync(join(folder, '__2_0.distcp')), ['FILE_MISSING']],
    ['with a shard that lacks its last byte', () => truncateSync(join(folder, '__2_0.distcp'), 31613), ['DCP_SHARD_TRUNCATED']],
    ['with an empty shard', () => truncateSync(join(folder, '__2_0.distcp')), ['DCP_SHARD_TRUNCATED']],
    ['with junk behind a shard', () => appendFileSync(join(folder, '__2_0.distcp'), Buffer.alloc(512)), ['DCP_SHARD_TRAILING']],
    ['with a shard too many', () => cpSync(join(folder, '__2_0.distcp'), join(folder, '__7_0.distcp')), ['DCP_SHARD_UNREFERENCED']],
  ])('%s is reported with its own code', (_, damage, expected) => {
    damage();
    expect(codes()).toEqual(expected);
  });

  it('whose shard holds only zeros is reported to lack its items', () => {
    edit('__2_0.distcp', (bytes) => void bytes.fill(0));
    expect(new Set(codes())).toEqual(new Set(['DCP_SLICE_FOREIGN']));
  });

  it('whose shard comes from another rank is reported to differ from its metadata', () => {
    cpSync(join(folder, '__0_0.distcp'), join(folder, '__2_0.distcp'));
    expect(inspect().evidence.some(({ effect }) => effect === 'corrupt')).toBe(true);
  });

  it('whose shard is much newer than the marker gets a warning', () => {
    utimesSync(join(folder, '.metadata'), 1000, 1000);
    utimesSync(join(folder, '__2_0.distcp'), 2000, 2000);
    expect(inspect().evidence.find(({ file }) => file?.endsWith('__2_0.distcp'))).toMatchObject({
      code: 'NEWER_THAN_MARKER',
      effect: 'warning',
    });
  });

  it('whose shards hold optimizer counters of different steps is reported as a mix of saves', () => {
    edit('__2_0.distcp', (bytes) => {
      const step = Buffer.alloc(4);
      step.writeFloatLE(100);
      const at = bytes.indexOf(step);
      expect(at).toBeGreaterThan(0);
      bytes.writeFloatLE(200, at);
    });
    expect(found()).toMatchObject([{ code: 'DCP_COUNTERS_DIFFER', effect: 'zombie', expected: '100', found: '200' }]);
  });

  it('never makes the reader throw, whichever byte of the metadata changes', () => {
    const whole = readFileSync(join(folder, '.metadata'));
    fc.assert(
      fc.property(fc.nat(whole.length - 1), fc.nat(255), (at, byte) => {
        const bytes = Buffer.from(whole);
        bytes[at] = byte;
        writeFileSync(join(folder, '.metadata'), bytes);
        expect(codes()).not.toContain('READER_FAILED');
      }),
      { numRuns: 200 },
    );
  });
});

describe('a save without coordination', () => {
  it('needs the metadata of every rank', () => {
    renameSync(join(folder, '.metadata'), join(folder, '__3.metadata'));
    expect(codes()).toEqual(['DCP_RANK_MISSING', 'DCP_RANK_MISSING', 'DCP_RANK_MISSING']);
  });
});
