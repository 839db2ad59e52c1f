import { ByteCursor } from '../../../bytes/source/byte-cursor.ts';
import { type DataFile, type Place, placeAt, readColumn, readDataFiles, readPlaces } from './record-columns.ts';

/** One commit: the root of its B-tree, or null when the database was empty at that commit. */
export interface Version {
  readonly generation: number;
  readonly height: number;
  readonly root: Place | null;
}

/** A node of the tree of older versions. */
export interface VersionNodePlace {
  readonly height: number;
  readonly place: Place;
}

/** The versions listed in a node, and the nodes below it. */
export interface VersionList {
  readonly versions: readonly Version[];
  readonly nodes: readonly VersionNodePlace[];
}

/**
 * The body of a manifest. `numbered`: it holds the configuration only, and separate files hold the
 * versions.
 */
export type Manifest = ({ readonly kind: 'single' } & VersionList) | { readonly kind: 'numbered' };

const COMMIT_TIME_BYTES = 8;

/** Reads the body of a manifest; returns null when it is malformed. */
export function readManifest(body: Buffer): Manifest | null {
  const cursor = new ByteCursor(body);
  cursor.take(16);
  const kind = cursor.byte();
  // Skips the largest inline value, the largest node, and the arity of the version tree.
  cursor.varint();
  cursor.varint();
  cursor.byte();
  if (cursor.varint() === 1) cursor.take(4);
  if (cursor.failed || kind > 1) return null;
  if (kind === 1) return cursor.remaining === 0 ? { kind: 'numbered' } : null;
  const files = readDataFiles(cursor, '');
  const versions = readVersions(cursor, files);
  const nodes = readNodes(cursor, files, null);
  const isSound = !cursor.failed && cursor.remaining === 0 && versions !== null && versions.length > 0 && nodes !== null;
  return isSound ? { kind: 'single', versions, nodes } : null;
}

/** Reads the body of a version tree node that was reached through `base`. */
export function readVersionNode(body: Buffer, base: string): VersionList | null {
  const cursor = new ByteCursor(body);
  cursor.byte();
  const height = cursor.byte();
  const files = readDataFiles(cursor, base);
  const versions = height === 0 ? readVersions(cursor, files) : [];
  const nodes = height === 0 ? [] : readNodes(cursor, files, height - 1);
  const isSound = !cursor.failed && cursor.remaining === 0 && versions !== null && nodes !== null;
  return isSound ? { versions, nodes } : null;
}

function readVersions(cursor: ByteCursor, files: readonly DataFile[]): Version[] | null {
  const count = cursor.varint();
  const generations = readColumn(cursor, count);
  const heights = cursor.take(count);
  const places = readPlaces(cursor, count);
  // Skips the numbers of keys, bytes in nodes and bytes in values; they follow from the tree
  // itself.
  for (let i = 0; i < 3; i++) readColumn(cursor, count);
  cursor.take(count * COMMIT_TIME_BYTES);
  if (cursor.failed) return null;
  const versions: Version[] = [];
  for (const [i, height] of heights.entries()) {
    const isEmpty = places.offsets[i] === Number.POSITIVE_INFINITY && places.lengths[i] === Number.POSITIVE_INFINITY;
    const root = isEmpty ? null : placeAt(places, i, files);
    if (root === null && !isEmpty) return null;
    versions.push({ generation: generations[i] ?? 0, height, root });
  }
  return versions;
}

/** `height` of the nodes, or null when each node stores its own. */
function readNodes(cursor: ByteCursor, files: readonly DataFile[], height: number | null): VersionNodePlace[] | null {
  const count = cursor.varint();
  readColumn(cursor, count);
  const places = readPlaces(cursor, count);
  readColumn(cursor, count);
  cursor.take(count * COMMIT_TIME_BYTES);
  const heights = height === null ? cursor.take(count) : null;
  if (cursor.failed) return null;
  const nodes: VersionNodePlace[] = [];
  for (let i = 0; i < count; i++) {
    const place = placeAt(places, i, files);
    if (place === null) return null;
    nodes.push({ height: heights?.[i] ?? height ?? 0, place });
  }
  return nodes;
}
