import { cpSync, mkdtempSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { inspectPath } from '../../../test/support/inspect.ts';
import { Findings } from '../reading/findings.ts';
import { checkModelRanks, parseModelRank } from './model-ranks.ts';
import { openTree } from '../../bytes/source/tree.ts';

const FIXTURES = fileURLToPath(new URL('../../../test/fixtures/whole', import.meta.url));

let folder: string;
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'holdfast-megatron-')), 'iter_0000100');
});
afterEach(() => rmSync(join(folder, '..'), { recursive: true }));

function use(fixture: string): void {
  cpSync(join(FIXTURES, fixture, 'data/run/iter_0000100'), folder, { recursive: true });
}

function found(): Findings['evidence'] {
  return inspectPath(folder).findings.evidence.filter(({ code }) => code !== 'NEWER_THAN_MARKER');
}

function codes(): readonly string[] {
  return found().map(({ code }) => code);
}

describe('Megatron, distributed', () => {
  it.each(['megatron-dist', 'megatron-dist-integrity'])('finds nothing wrong with %s, and checksums over all of it', (fixture) => {
    use(fixture);
    const { format, findings } = inspectPath(folder);
    expect(format).toBe('megatron-dist');
    expect(found()).toEqual([]);
    expect(findings.checks.reduce((sum, check) => sum + check.payloadBytes, 0)).toBe(findings.payloadBytes);
    expect(findings.content.steps).toMatchObject([{ step: 100 }]);
    for (const need of ['weights', 'optimizer', 'scheduler', 'rng'] as const) expect(findings.content.found[need], need).not.toEqual([]);
  });

  it('lists the SHA-256 of every file that integrity.json names, and nothing else', () => {
    use('megatron-dist-integrity');
    const { checks } = inspectPath(folder).findings;
    expect(new Set(checks.map(({ algorithm }) => algorithm))).toEqual(new Set(['sha256']));
    for (const { file, expected } of checks) {
      expect(
        createHash('sha256')
          .update(readFileSync(join(folder, file)))
          .digest('hex'),
      ).toBe(expected);
    }
  });

  it.each([
    ['without metadata.json', () => rmSync(join(folder, 'metadata.json')), ['MEGATRON_NO_CONFIG', 'FILE_MISSING']],
    ['without its common state', () => rmSync(join(folder, 'common.pt')), ['MEGATRON_NO_COMMON', 'FILE_MISSING']],
    ['with an empty metadata.json', () => truncateSync(join(folder, 'metadata.json')), ['FILE_EMPTY']],
    ['without the marker of its shards', () => rmSync(join(folder, '.metadata')), ['DCP_NO_METADATA', 'FILE_MISSING']],
    ['with half an integrity.json', () => truncateSync(join(folder, 'integrity.json'), 100), ['DOCUMENT_INVALID']],
    [
      'with a shard that came later',
      () => cpSync(join(folder, '__1_1.distcp'), join(folder, '__2_0.distcp')),
      ['DCP_SHARD_UNREFERENCED', 'MEGATRON_INTEGRITY_UNLISTED'],
    ],
    ['of another backend', () => writeFileSync(join(folder, 'metadata.json'), '{"sharded_backend": "zarr"}'), ['MEGATRON_BACKEND_UNKNOWN']],
  ])('recognises a checkpoint %s', (_, damage, expected) => {
    use('megatron-dist-integrity');
    damage();
    expect(codes()).toEqual(expected);
  });

  it('reports a folder that was only created as an unfinished save', () => {
    use('megatron-dist');
    for (const name of ['.metadata', 'metadata.json', '__0_0.distcp', '__0_1.distcp', '__1_0.distcp', '__1_1.distcp', 'common.pt']) {
      rmSync(join(folder, name));
    }
    expect(codes()).toEqual(['DCP_NO_METADATA']);
  });

  it('reports a folder that is named for another iteration than the one inside', () => {
    use('megatron-dist');
    const other = join(folder, '..', 'iter_0000200');
    renameSync(folder, other);
    expect(inspectPath(other).findings.evidence).toMatchObject([
      { code: 'DCP_SAVED_ELSEWHERE', effect: 'warning' },
      { code: 'STEP_NOT_AS_NAMED', effect: 'zombie', expected: '200', found: '100' },
    ]);
  });

  it('reports the common state of another save', () => {
    use('megatron-dist');
    cpSync(join(FIXTURES, '../other-step/megatron-dist/data/run/iter_0000100/common.pt'), join(folder, 'common.pt'));
    expect(codes()).toEqual(['STEP_NOT_AS_NAMED']);
  });
});

describe('Megatron, one file per rank', () => {
  beforeEach(() => use('megatron-legacy'));

  it('finds nothing wrong with a save of Megatron', () => {
    const { format, findings } = inspectPath(folder);
    expect(format).toBe('megatron-legacy');
    expect(findings.evidence).toEqual([]);
    expect(findings.checks.reduce((sum, check) => sum + check.payloadBytes, 0)).toBe(findings.payloadBytes);
    expect(findings.content.steps).toMatchObject([{ step: 100 }, { step: 100 }]);
    for (const need of ['weights', 'optimizer', 'scheduler', 'rng'] as const) expect(findings.content.found[need], need).not.toEqual([]);
  });

  it('reports a missing folder of a rank that the arguments name', () => {
    rmSync(join(folder, 'mp_rank_01'), { recursive: true });
    expect(found()).toMatchObject([{ code: 'FILE_MISSING', file: 'mp_rank_01' }]);
  });

  it('reports a missing file in a folder', () => {
    rmSync(join(folder, 'mp_rank_01/model_optim_rng.pt'));
    expect(codes()).toEqual(['FILE_MISSING']);
  });

  it('calls a folder beyond the layout a leftover of a larger save', () => {
    cpSync(join(folder, 'mp_rank_01'), join(folder, 'mp_rank_02'), { recursive: true });
    expect(found()).toMatchObject([{ code: 'MEGATRON_RANKS_SURPLUS', effect: 'zombie', file: 'mp_rank_02' }]);
  });

  it('reports a missing distributed optimizer of one rank when another rank has it', () => {
    cpSync(join(folder, 'mp_rank_01/model_optim_rng.pt'), join(folder, 'mp_rank_01/distrib_optim.pt'));
    expect(found()).toMatchObject([{ code: 'FILE_MISSING', file: 'mp_rank_00/distrib_optim.pt' }]);
  });

  it.each([
    ['one number', ['mp_rank_00', 'mp_rank_02'], null, ['mp_rank_01']],
    ['two numbers', ['mp_rank_00_000', 'mp_rank_01_001'], null, ['mp_rank_00_001', 'mp_rank_01_000']],
    ['pipeline and expert ranks', ['mp_rank_00_000_000'], [1, 2, 2], ['mp_rank_00_000_001', 'mp_rank_00_001_000', 'mp_rank_00_001_001']],
    ['expert ranks alone', ['mp_rank_00_000'], [1, 1, 2], ['mp_rank_00_001']],
  ])('reports the ranks that are missing from names with %s', (_, names, sizes, missing) => {
    const findings = new Findings();
    const ranks = names.map((name) => parseModelRank(name)).filter((rank) => rank !== null);
    const layout = sizes && {
      tensor: sizes[0] ?? null,
      pipeline: sizes[1] ?? null,
      expert: sizes[2] ?? null,
      usesDistributedOptimizer: false,
    };
    checkModelRanks(openTree(folder).tree.root, ranks, layout, findings);
    expect(findings.evidence.map(({ file }) => file)).toEqual(missing);
  });
});

describe('NVRx local checkpoints', () => {
  it('are grouped by iteration', () => {
    use('megatron-legacy');
    const model = join(folder, 'mp_rank_00/model_optim_rng.pt');
    const local = mkdtempSync(join(tmpdir(), 'holdfast-nvrx-'));
    for (const rank of [0, 3]) cpSync(model, join(local, `iter_0000100_${rank}_local.pt`));
    cpSync(model, join(local, 'iter_0000100_4_local.dirty.pt'));
    const { format, findings } = inspectPath(local);
    rmSync(local, { recursive: true });
    expect(format).toBe('nvrx-local');
    expect(findings.evidence).toMatchObject([{ code: 'NVRX_LOCAL_PART', found: '2 ranks' }]);
  });
});
