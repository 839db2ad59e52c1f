import { appendFileSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { inspectPath } from '../../../test/support/inspect.ts';
import { parseBlockYaml } from './block-yaml.ts';
import { parseManifest } from './snapshot-manifest.ts';

const FIXTURES = fileURLToPath(new URL('../../../test/fixtures/whole', import.meta.url));
const METADATA = '.snapshot_metadata';

let folder: string;
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'holdfast-snapshot-')), 'step-100');
  use('torchsnapshot-2-ranks');
});
afterEach(() => rmSync(join(folder, '..'), { recursive: true }));

function use(fixture: string): void {
  rmSync(folder, { recursive: true, force: true });
  cpSync(join(FIXTURES, fixture, 'data/step-100'), folder, { recursive: true });
}

function codes(): readonly string[] {
  return inspectPath(folder).findings.evidence.map(({ code }) => code);
}

/** The one file all small tensors of a single rank are packed into. */
function batch(): string {
  const [name] = readdirSync(join(folder, 'batched'));
  return join(folder, 'batched', name ?? '');
}

describe('TorchSnapshot', () => {
  it.each(['torchsnapshot', 'torchsnapshot-2-ranks'])('finds nothing wrong with %s', (fixture) => {
    use(fixture);
    const { format, findings } = inspectPath(folder);
    expect(format).toBe('torchsnapshot');
    expect(findings.evidence).toEqual([]);
    expect(new Set(findings.content.steps.map(({ step }) => step))).toEqual(new Set([100]));
    for (const need of ['weights', 'optimizer', 'scheduler', 'rng'] as const) expect(findings.content.found[need], need).not.toEqual([]);
  });

  it.each([
    ['without its manifest', () => rmSync(join(folder, METADATA)), ['TORCHSNAPSHOT_NO_METADATA']],
    ['with an empty manifest', () => truncateSync(join(folder, METADATA)), ['FILE_EMPTY']],
    ['with half a manifest', () => truncateSync(join(folder, METADATA), 9000), ['DOCUMENT_INVALID']],
    ['without a file', () => rmSync(join(folder, 'replicated/model/head.bias')), ['FILE_MISSING']],
    ['without the folder of a rank', () => rmSync(join(folder, '1/rng'), { recursive: true }), ['FILE_MISSING']],
    ['with a short tensor', () => truncateSync(join(folder, '1/rng/rng_state'), 5055), ['TORCHSNAPSHOT_TRUNCATED']],
    ['with an empty tensor', () => truncateSync(join(folder, '1/rng/rng_state')), ['TORCHSNAPSHOT_TRUNCATED']],
    ['with a long tensor', () => appendFileSync(join(folder, '1/rng/rng_state'), Buffer.alloc(512)), ['TORCHSNAPSHOT_SIZE']],
    ['with a random state of zeros', () => writeFileSync(join(folder, '1/rng/rng_state'), Buffer.alloc(5056)), ['FILE_ALL_ZERO']],
    ['with the folder of a rank too many', () => mkdirSync(join(folder, '2')), ['TORCHSNAPSHOT_UNREFERENCED']],
  ])('recognises a snapshot %s', (_, damage, expected) => {
    damage();
    expect(codes()).toEqual(expected);
  });

  it.each([
    ['cut in half', () => truncateSync(batch(), 4800), 'TORCHSNAPSHOT_TRUNCATED'],
    ['one byte short', () => truncateSync(batch(), 9683), 'TORCHSNAPSHOT_TRUNCATED'],
    ['of zeros', () => writeFileSync(batch(), Buffer.alloc(9684)), 'FILE_ALL_ZERO'],
    ['too long', () => appendFileSync(batch(), Buffer.alloc(512)), 'TORCHSNAPSHOT_TRAILING'],
  ])('recognises a batch %s', (_, damage, expected) => {
    use('torchsnapshot');
    damage();
    expect(codes()).toContain(expected);
  });

  it('reports ranks with different optimizer counters as pieces of several snapshots', () => {
    const step = Buffer.alloc(4);
    step.writeFloatLE(200);
    writeFileSync(join(folder, '1/optimizer/state/0/step'), step);
    expect(inspectPath(folder).findings.evidence).toMatchObject([{ code: 'TORCHSNAPSHOT_COUNTERS_DIFFER', effect: 'zombie' }]);
  });

  it('never leaves the folder', () => {
    const manifest = readFileSync(join(folder, METADATA), 'utf8');
    writeFileSync(join(folder, METADATA), manifest.replaceAll('"replicated/model/head.bias"', '"../../../etc/passwd"'));
    expect(codes()).toEqual(['TORCHSNAPSHOT_LOCATION']);
  });
});

describe('the YAML of the first versions', () => {
  const text = [
    'version: 0.0.3',
    'world_size: 2',
    'manifest:',
    '  0/model:',
    '    type: OrderedDict',
    '    keys:',
    '    - weight',
    '    - 7',
    '  0/model/weight:',
    '    type: ShardedTensor',
    '    shards:',
    '    - offsets:',
    '      - 0',
    '      sizes:',
    '      - 4',
    '      tensor:',
    '        type: Tensor',
    "        location: 'sharded/it''s'",
    '        serializer: buffer_protocol',
    '        dtype: torch.float32',
    '        shape:',
    '        - 4',
    '        replicated: false',
    '        byte_range: null',
    '  ? 0/a/very/long/path',
    '  : type: list',
    '    keys: []',
  ].join('\n');

  it('is read like JSON', () => {
    const parsed = parseBlockYaml(text);
    const tensor = { type: 'Tensor', location: "sharded/it's", serializer: 'buffer_protocol', dtype: 'torch.float32' };
    expect(parsed.ok && JSON.parse(JSON.stringify(parsed.value))).toEqual({
      version: '0.0.3',
      world_size: 2,
      manifest: {
        '0/model': { type: 'OrderedDict', keys: ['weight', 7] },
        '0/model/weight': {
          type: 'ShardedTensor',
          shards: [{ offsets: [0], sizes: [4], tensor: { ...tensor, shape: [4], replicated: false, byte_range: null } }],
        },
        '0/a/very/long/path': { type: 'list', keys: [] },
      },
    });
    expect(parseManifest(text)).toMatchObject({
      manifest: { worldSize: 2, parts: [{ path: '0/model/weight', dtype: 'float32', range: null }] },
    });
  });

  it('never makes the parser fail, whatever the text', () => {
    fc.assert(
      fc.property(fc.nat(text.length), fc.string(), (at, inserted) => {
        parseManifest(text.slice(0, at) + inserted + text.slice(at + inserted.length));
      }),
    );
    expect(parseBlockYaml(`a${' '.repeat(1_000_000)}b`)).toMatchObject({ ok: false });
    expect(parseBlockYaml('- '.repeat(10_000))).toMatchObject({ ok: false, limit: true });
  });
});
