import { cpSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { inspectPath } from '../../../test/support/inspect.ts';

const FIXTURE = fileURLToPath(new URL('../../../test/fixtures/whole/safetensors-sharded/data', import.meta.url));
const FIRST = 'model-00001-of-00002.safetensors';
const SECOND = 'model-00002-of-00002.safetensors';
const INDEX = 'model.safetensors.index.json';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-shards-'));
  cpSync(FIXTURE, folder, { recursive: true });
});
afterEach(() => rmSync(folder, { recursive: true }));

function codes(): readonly string[] {
  return inspectPath(folder).findings.evidence.map(({ code }) => code);
}

function editIndex(edit: (index: { metadata: { total_size: number }; weight_map: Record<string, string> }) => void): void {
  const path = join(folder, INDEX);
  const index = JSON.parse(readFileSync(path, 'utf8'));
  edit(index);
  writeFileSync(path, JSON.stringify(index));
}

describe('the reader of sharded safetensors', () => {
  it('accepts the files that Hugging Face writes', () => {
    const { format, findings } = inspectPath(folder);
    expect(format).toBe('safetensors-sharded');
    expect(findings.evidence).toEqual([]);
    expect(findings.payloadBytes).toBe(1624);
    expect(findings.content.found.weights).toEqual([FIRST, SECOND]);
  });

  it('does not count the leftover shard of an interrupted save as part of the set', () => {
    cpSync(join(folder, SECOND), join(folder, `.tmp-${SECOND}`));
    expect(codes()).toEqual([]);
  });

  it('reports a missing shard', () => {
    rmSync(join(folder, SECOND));
    expect(codes()).toEqual(['FILE_MISSING']);
  });

  it('reports a truncated shard', () => {
    truncateSync(join(folder, SECOND), 900);
    expect(codes()).toEqual(['SAFETENSORS_TRUNCATED']);
  });

  it('reports an empty index', () => {
    truncateSync(join(folder, INDEX));
    expect(codes()).toEqual(['DOCUMENT_INVALID']);
  });

  it('reports a missing index, and the shards that the numbering lacks', () => {
    rmSync(join(folder, INDEX));
    expect(codes()).toEqual(['SHARD_INDEX_MISSING']);
    rmSync(join(folder, FIRST));
    expect(codes()).toEqual(['SHARD_INDEX_MISSING', 'FILE_MISSING']);
  });

  it('only warns about shards of an earlier, larger save that the index ignores', () => {
    cpSync(join(folder, FIRST), join(folder, 'model-00005-of-00005.safetensors'));
    expect(inspectPath(folder).findings.evidence).toMatchObject([{ code: 'SHARD_LEFTOVER', effect: 'warning' }]);
  });

  it('reports shards with two totals and no index as a mix of saves', () => {
    rmSync(join(folder, INDEX));
    cpSync(join(folder, FIRST), join(folder, 'model-00005-of-00005.safetensors'));
    expect(codes()).toEqual(['SHARD_INDEX_MISSING', 'SHARD_COUNT']);
  });

  it('reports an index that mixes totals as a mix of saves', () => {
    renameSync(join(folder, FIRST), join(folder, 'model-00001-of-00003.safetensors'));
    editIndex(({ weight_map }) => {
      for (const key of Object.keys(weight_map)) if (weight_map[key] === FIRST) weight_map[key] = 'model-00001-of-00003.safetensors';
    });
    expect(codes()).toEqual(['SHARD_COUNT']);
  });

  it('reports a shard that lacks a tensor of its index', () => {
    cpSync(join(folder, FIRST), join(folder, SECOND));
    expect(codes()).toEqual(expect.arrayContaining(['SHARD_TENSOR_MISSING', 'SHARD_TENSOR_UNLISTED']));
  });

  it('never follows a path in the index', () => {
    editIndex(({ weight_map }) => {
      weight_map['head.bias'] = '../../etc/passwd';
    });
    expect(codes()).toContain('SHARD_INDEX_NAME');
  });

  it('warns when the total size in the index is wrong', () => {
    editIndex(({ metadata }) => {
      metadata.total_size += 4;
    });
    expect(codes()).toEqual(['SHARD_TOTAL_SIZE']);
  });
});

describe('sharded torch weights', () => {
  const SHARD = 'pytorch_model-00001-of-00001.bin';
  const weights = fileURLToPath(new URL('../../../test/fixtures/whole/torch-zip-weights/data', import.meta.url));

  function writeShards(names: readonly string[]): void {
    for (const name of readdirSync(folder)) rmSync(join(folder, name));
    const [name] = readdirSync(weights);
    cpSync(join(weights, name ?? ''), join(folder, SHARD));
    const weight_map = Object.fromEntries(names.map((tensor) => [tensor, SHARD]));
    writeFileSync(join(folder, 'pytorch_model.bin.index.json'), JSON.stringify({ metadata: {}, weight_map }));
  }

  it('are compared with their index by the tensor names in the pickle', () => {
    writeShards(['embed.weight', 'no.such.tensor']);
    const { format, findings } = inspectPath(folder);
    expect(format).toBe('safetensors-sharded');
    expect(findings.content.found.weights).toEqual([SHARD]);
    expect(findings.evidence).toMatchObject([
      { code: 'SHARD_TENSOR_MISSING', expected: 'no.such.tensor' },
      { code: 'SHARD_TENSOR_UNLISTED' },
    ]);
  });
});
