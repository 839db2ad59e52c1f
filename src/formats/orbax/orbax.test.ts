import { cpSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { failedChecks } from '../../../test/support/failed-checks.ts';
import { alterFile, appendJunk, cutEnd, fixtureData, flipBit, withFixtureCopy, zeroFile } from '../../../test/support/fixture-copy.ts';
import { Findings } from '../reading/findings.ts';
import { openTree } from '../../bytes/source/tree.ts';
import { orbax } from './orbax.ts';
import { probe } from '../recognise.ts';

const OCDBT = ['orbax-ocdbt-zarr2', 'orbax-ocdbt-zarr3', 'orbax-two-processes', 'orbax-deep-tree'] as const;
const PLAIN = ['orbax-zarr2', 'orbax-zarr3'] as const;
const STEP = 'step-100';

function inspect(path: string): Findings {
  const { tree } = openTree(path);
  const findings = new Findings();
  orbax.inspect(tree.root, findings, probe);
  tree.close();
  return findings;
}

function claims(path: string): boolean {
  const { tree } = openTree(path);
  const isClaimed = orbax.claims(tree.root);
  tree.close();
  return isClaimed;
}

/** The codes found in a copy of a fixture's step after `damage`. */
function after(id: string, damage: (step: string) => void, path = STEP): readonly string[] {
  return withFixtureCopy(id, (data) => {
    damage(join(data, path));
    return [...new Set(inspect(join(data, path)).evidence.map(({ code }) => code))];
  });
}

/** All data files of a checkpoint's databases. */
function dataFiles(step: string): readonly string[] {
  return readdirSync(step, { recursive: true, encoding: 'utf8' })
    .filter((name) => /(^|\/)d\/[0-9a-f]{32}$/.test(name))
    .map((name) => join(step, name));
}

function largest(files: readonly string[]): string {
  return files.toSorted((a, b) => readFileSync(b).length - readFileSync(a).length)[0] ?? '';
}

describe('a whole Orbax checkpoint', () => {
  it.each([
    ...[...OCDBT, ...PLAIN].map((id) => [id, STEP, 100, { weights: true, optimizer: true, rng: id !== 'orbax-two-processes' }] as const),
    ...[100, 200, 300].map((step) => ['orbax-manager', `run/${step}`, step, { weights: true, optimizer: true, rng: true }] as const),
    ['orbax-weights', 'params', null, { weights: true, optimizer: false, rng: false }] as const,
  ])('%s, %s, has no evidence against it, and shows its content', (id, path, step, content) => {
    const folder = join(fixtureData(id), path);
    expect(claims(folder)).toBe(true);
    const findings = inspect(folder);
    expect(findings.evidence).toEqual([]);
    const { weights, optimizer, rng } = findings.content.found;
    expect({ weights: weights.length > 0, optimizer: optimizer.length > 0, rng: rng.length > 0 }).toEqual(content);
    expect(findings.content.steps.map((seen) => seen.step)).toEqual(step === null ? [] : [step]);
    expect(findings.payloadBytes).toBeGreaterThan(1000);
    const covered = findings.checks.reduce((sum, check) => sum + check.payloadBytes, 0);
    expect(covered).toBeLessThan(findings.payloadBytes);
    expect(failedChecks(folder, findings)).toEqual([]);
  });

  it('is a step of a run, and the folder of the run is not a checkpoint itself', () => {
    expect(claims(join(fixtureData('orbax-manager'), 'run'))).toBe(false);
  });

  it('shows how many processes wrote it', () => {
    expect(inspect(join(fixtureData('orbax-two-processes'), STEP)).content.worldSize).toBe(2);
  });

  it('is recognised by its items alone if its version did not describe the checkpoint', () => {
    withFixtureCopy('orbax-manager', (data) => {
      const step = join(data, 'run', '300');
      rmSync(join(step, '_CHECKPOINT_METADATA'));
      expect(claims(step)).toBe(true);
      expect(claims(join(data, 'run'))).toBe(false);
      expect(inspect(step).evidence).toEqual([]);
    });
  });
});

describe('an Orbax save that was not finished', () => {
  it('is partial under its temporary name, whatever is in it', () => {
    withFixtureCopy('orbax-manager', (data) => {
      const unfinished = join(data, 'run', '300.orbax-checkpoint-tmp');
      renameSync(join(data, 'run', '300'), unfinished);
      rmSync(join(unfinished, 'state', 'manifest.ocdbt'));
      expect(claims(unfinished)).toBe(true);
      expect(inspect(unfinished).evidence.map(({ code, effect }) => [code, effect])).toEqual([['ORBAX_UNFINISHED', 'partial']]);
    });
  });

  it('is partial without the time of its commit', () => {
    const codes = after('orbax-ocdbt-zarr2', (step) => {
      const uncommit = (bytes: Buffer) => Buffer.from(bytes.toString().replace(/("commit_timestamp_nsecs": )\d+/, '$1null'));
      alterFile(join(step, '_CHECKPOINT_METADATA'), uncommit);
    });
    expect(codes).toEqual(['ORBAX_NOT_COMMITTED']);
  });

  it('is partial when its items are marked but it is not', () => {
    expect(after('orbax-manager', (step) => rmSync(join(step, 'commit_success.txt')), 'run/300')).toEqual(['ORBAX_NOT_COMMITTED']);
  });

  it('is detected by an empty marker', () => {
    expect(after('orbax-zarr2', (step) => truncateSync(join(step, 'commit_success.txt'), 0))).toEqual(['FILE_EMPTY']);
  });

  it('is detected by an item that still has its temporary name', () => {
    const codes = after('orbax-manager', (step) => renameSync(join(step, 'state'), join(step, 'state.orbax-checkpoint-tmp-7')), 'run/300');
    expect(codes).toEqual(expect.arrayContaining(['ORBAX_UNFINISHED', 'FILE_MISSING']));
  });

  it('does not include leftovers of an earlier try beside a finished item', () => {
    const codes = after('orbax-manager', (step) => mkdirSync(join(step, 'state.orbax-checkpoint-tmp-7')), 'run/300');
    expect(codes).toEqual([]);
  });

  it('is detected by a missing item', () => {
    expect(after('orbax-manager', (step) => rmSync(join(step, 'state'), { recursive: true }), 'run/300')).toEqual(['FILE_MISSING']);
  });
});

describe('a damaged Orbax checkpoint in an OCDBT database', () => {
  const rows = OCDBT.flatMap((id) => [
    [id, 'no manifest', (step: string) => rmSync(join(step, 'manifest.ocdbt')), 'FILE_MISSING'] as const,
    [id, 'an empty manifest', (step: string) => truncateSync(join(step, 'manifest.ocdbt'), 0), 'ORBAX_MANIFEST_CUT'] as const,
    [id, 'a manifest cut by one byte', (step: string) => cutEnd(join(step, 'manifest.ocdbt'), 1), 'ORBAX_MANIFEST_CUT'] as const,
    [id, 'a manifest of zeros', (step: string) => zeroFile(join(step, 'manifest.ocdbt')), 'ORBAX_MANIFEST_CORRUPT'] as const,
    [id, 'junk after the manifest', (step: string) => appendJunk(join(step, 'manifest.ocdbt')), 'ORBAX_MANIFEST_CORRUPT'] as const,
    [id, 'a flipped bit in the manifest', (step: string) => flipBit(join(step, 'manifest.ocdbt'), 60), 'ORBAX_MANIFEST_CORRUPT'] as const,
    [id, 'no tree', (step: string) => rmSync(join(step, '_METADATA')), 'FILE_MISSING'] as const,
    [id, 'half a tree', (step: string) => truncateSync(join(step, '_METADATA'), 900), 'DOCUMENT_INVALID'] as const,
  ]);
  it.each(rows)('%s is detected by its structure alone: %s', (id, _fault, damage, code) => {
    expect(after(id, damage)).toContain(code);
  });

  it.each(OCDBT)('%s: a data file that is missing, empty, cut in half or full of zeros is always reported', (id) => {
    withFixtureCopy(id, (data) => {
      const step = join(data, STEP);
      for (const file of dataFiles(step)) {
        const bytes = readFileSync(file);
        const codesAfter = (damage: () => void) => {
          damage();
          const codes = inspect(step).evidence.map(({ code }) => code as string);
          writeFileSync(file, bytes);
          return codes;
        };
        expect(
          codesAfter(() => rmSync(file)),
          file,
        ).toContain('FILE_MISSING');
        expect(
          codesAfter(() => truncateSync(file, 0)),
          file,
        ).toContain('ORBAX_DATA_CUT');
        expect(
          codesAfter(() => truncateSync(file, Math.floor(bytes.length / 2))),
          file,
        ).toContain('ORBAX_DATA_CUT');
        expect(codesAfter(() => zeroFile(file)).length, file).toBeGreaterThan(0);
        expect(
          codesAfter(() => appendJunk(file)),
          file,
        ).toEqual([]);
      }
    });
  });

  it('is detected when the last byte is missing, although only the data of one process refers to it', () => {
    expect(after('orbax-two-processes', (step) => cutEnd(largest(dataFiles(step)), 1))).toContain('ORBAX_DATA_CUT');
  });

  it('is detected when one process is missing', () => {
    const codes = after('orbax-two-processes', (step) => rmSync(join(step, 'ocdbt.process_1'), { recursive: true }));
    expect(codes).toEqual(['FILE_MISSING']);
  });

  it('is detected when the tree names an array that is not stored', () => {
    const codes = after('orbax-ocdbt-zarr2', (step) => {
      const addArray = (bytes: Buffer) => {
        const json = JSON.parse(bytes.toString());
        const [leaf] = Object.values(json.tree_metadata) as [object];
        json.tree_metadata['(extra)'] = { ...leaf, key_metadata: [{ key: 'params' }, { key: 'extra' }] };
        return Buffer.from(JSON.stringify(json));
      };
      alterFile(join(step, '_METADATA'), addArray);
    });
    expect(codes).toEqual(['ORBAX_ARRAY_MISSING']);
  });

  it('is detected when the data file of another save has its name', () => {
    const other = fixtureData('orbax-manager');
    const codes = after('orbax-two-processes', (step) => {
      cpSync(largest(dataFiles(join(other, 'run', '300'))), largest(dataFiles(step)));
    });
    expect(codes.length).toBeGreaterThan(0);
  });
});

describe('a damaged Orbax checkpoint in plain folders', () => {
  const CHUNK = { 'orbax-zarr2': 'params.hidden.kernel/0.0', 'orbax-zarr3': 'params.hidden.kernel/c/1/0' } as const;
  const DESCRIPTION = { 'orbax-zarr2': 'params.hidden.kernel/.zarray', 'orbax-zarr3': 'params.hidden.kernel/zarr.json' } as const;
  const rows = PLAIN.flatMap((id) => [
    [id, 'a missing chunk', (step: string) => rmSync(join(step, CHUNK[id])), 'ORBAX_CHUNK_MISSING'] as const,
    [id, 'an empty chunk', (step: string) => truncateSync(join(step, CHUNK[id]), 0), 'ORBAX_CHUNK_CUT'] as const,
    [id, 'a chunk of zeros', (step: string) => zeroFile(join(step, CHUNK[id])), 'ORBAX_CHUNK_CORRUPT'] as const,
    [id, 'junk after a chunk', (step: string) => appendJunk(join(step, CHUNK[id])), 'ORBAX_CHUNK_CORRUPT'] as const,
    [id, 'a missing description', (step: string) => rmSync(join(step, DESCRIPTION[id])), 'ORBAX_ARRAY_MISSING'] as const,
    [id, 'half a description', (step: string) => truncateSync(join(step, DESCRIPTION[id]), 80), 'ORBAX_ARRAY_INVALID'] as const,
    [
      id,
      'a missing array',
      (step: string) => rmSync(dirname(join(step, DESCRIPTION[id])), { recursive: true }),
      'ORBAX_ARRAY_MISSING',
    ] as const,
  ]);
  it.each(rows)('%s is detected by its structure alone: %s', (id, _fault, damage, code) => {
    expect(after(id, damage)).toEqual([code]);
  });

  it.each(PLAIN)('%s: a chunk is detected, wherever it is cut', (id) => {
    withFixtureCopy(id, (data) => {
      const chunk = join(data, STEP, CHUNK[id]);
      const bytes = readFileSync(chunk);
      for (const length of [1, 5, 17, 100, bytes.length / 2, bytes.length - 4, bytes.length - 1]) {
        writeFileSync(chunk, bytes.subarray(0, length));
        const [code] = inspect(join(data, STEP)).evidence.map((evidence) => evidence.code);
        expect(code, `cut to ${length}`).toMatch(/^ORBAX_CHUNK_(CUT|CORRUPT)$/);
      }
    });
  });

  it('is detected by the checksum of the index when a bit of that index is flipped', () => {
    const codes = after('orbax-zarr3', (step) => {
      const chunk = join(step, CHUNK['orbax-zarr3']);
      flipBit(chunk, readFileSync(chunk).length - 12);
    });
    expect(codes).toEqual(['ORBAX_CHUNK_CORRUPT']);
  });
});
