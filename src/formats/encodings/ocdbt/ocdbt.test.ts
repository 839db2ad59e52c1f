import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fixtureData } from '../../../../test/support/fixture-copy.ts';
import { crc32c } from '../../../core/checksums.ts';
import { openTree } from '../../../bytes/source/tree.ts';
import { type BtreeNode, readBtreeNode } from './btree-node.ts';
import { DataFiles } from './data-files.ts';
import { readFrame } from './frame.ts';
import { readManifest, readVersionNode } from './versions.ts';
import { DatabaseWalk } from './walk.ts';

const STEP = join(fixtureData('orbax-deep-tree'), 'step-100');
const MANIFEST = readFileSync(join(STEP, 'manifest.ocdbt'));

function bodyOf(bytes: Buffer, kind: 'manifest' | 'btreeNode' | 'versionNode'): Buffer {
  const frame = readFrame(bytes, kind);
  if ('problem' in frame) throw new Error(frame.says);
  return frame.body;
}

const BODY = bodyOf(MANIFEST, 'manifest');

function versionsOf(body: Buffer) {
  const manifest = readManifest(body);
  if (manifest?.kind !== 'single') throw new Error('the fixture has another manifest');
  return manifest;
}

/** Returns the body of a node of the fixture. */
function nodeBody({ path, offset, length }: { path: string; offset: number; length: number }, kind: 'btreeNode' | 'versionNode'): Buffer {
  return bodyOf(readFileSync(join(STEP, path)).subarray(offset, offset + length), kind);
}

/** Returns a copy with some bytes replaced, and truncated. */
const edits = fc.record({ changes: fc.array(fc.tuple(fc.nat(4000), fc.nat(255)), { maxLength: 6 }), length: fc.nat(4000) });
function edited(bytes: Buffer, { changes, length }: { changes: [number, number][]; length: number }): Buffer {
  const copy = Buffer.from(bytes);
  for (const [offset, byte] of changes) if (offset < copy.length) copy[offset] = byte;
  return length % 3 === 0 ? copy.subarray(0, length) : copy;
}

describe('an OCDBT database', () => {
  it('is walked through interior nodes and older versions, with its newest keys in order', () => {
    const manifest = versionsOf(BODY);
    expect(manifest.versions.map(({ height }) => height)).toEqual([1, 1, 1]);
    expect(manifest.nodes.map(({ height }) => height)).toEqual([2, 1]);
    const { tree } = openTree(STEP);
    const keys: string[] = [];
    const problems: string[] = [];
    const walker = { onValue: (key: string) => void keys.push(key), onProblem: ({ says }: { says: string }) => void problems.push(says) };
    new DatabaseWalk(new DataFiles(tree.root), '', walker).walk(manifest);
    tree.close();
    expect(problems).toEqual([]);
    expect(keys).toHaveLength(30);
    expect(keys).toEqual(keys.toSorted());
    expect(keys.filter((key) => key.startsWith('step/'))).toEqual(['step/.zarray', 'step/0']);
  });

  it('reveals every flipped bit of a frame by its checksum or header', () => {
    for (let offset = 0; offset < MANIFEST.length; offset++) {
      const damaged = Buffer.from(MANIFEST);
      damaged[offset] = (damaged[offset] ?? 0) ^ 16;
      expect(readFrame(damaged, 'manifest'), `offset ${offset}`).toHaveProperty('problem');
    }
  });

  it('cannot make the walk expand it without limit', () => {
    const packed = zstdCompressSync(Buffer.alloc(64 * 1024 * 1024));
    const bytes = Buffer.concat([Buffer.alloc(12), Buffer.from([0, 1]), packed, Buffer.alloc(4)]);
    bytes.writeUInt32BE(0x0cdb3a2a, 0);
    bytes.writeBigUInt64LE(BigInt(bytes.length), 4);
    bytes.writeUInt32LE(crc32c(bytes.subarray(0, -4)), bytes.length - 4);
    expect(readFrame(bytes, 'manifest')).toMatchObject({ problem: 'limit' });
  });

  it('never leads the reader out of its folder', () => {
    const { tree } = openTree(join(STEP, 'd'));
    const files = new DataFiles(tree.root);
    for (const path of ['../manifest.ocdbt', '/etc/hostname', 'x/../../manifest.ocdbt', '', '.', '..']) {
      expect(files.find('', { path, base: '', offset: 0, length: 1 }), path).toBeNull();
    }
    tree.close();
  });
});

describe('the readers of an OCDBT database', () => {
  const [newest] = versionsOf(BODY).versions.toReversed();
  const root = nodeBody(newest?.root ?? { path: '', offset: 0, length: 0 }, 'btreeNode');
  const childPlaces: { path: string; offset: number; length: number }[] = [];
  readBtreeNode(root, '')?.forEach((entry) => entry.kind === 'child' && childPlaces.push(entry.place) > 0);
  const leaf = nodeBody(childPlaces[0] ?? { path: '', offset: 0, length: 0 }, 'btreeNode');
  const versionNode = nodeBody(versionsOf(BODY).nodes[0]?.place ?? { path: '', offset: 0, length: 0 }, 'versionNode');

  it('find children in an interior node and values in a leaf', () => {
    expect(childPlaces.length).toBeGreaterThan(1);
    expect(readBtreeNode(leaf, '')?.height).toBe(0);
  });

  const walkAll = (node: BtreeNode | null) => node?.forEach(() => true);
  it.each([
    ['manifest', BODY, (body: Buffer) => readManifest(body)],
    ['interior node', root, (body: Buffer) => walkAll(readBtreeNode(body, 'base/'))],
    ['leaf', leaf, (body: Buffer) => walkAll(readBtreeNode(body, 'base/'))],
    ['version node', versionNode, (body: Buffer) => readVersionNode(body, '')],
  ] as const)('answer any damage to a %s without throwing', (_name, bytes, read) => {
    fc.assert(
      fc.property(edits, (edit) => void read(edited(bytes, edit))),
      { numRuns: 500 },
    );
  });
});
