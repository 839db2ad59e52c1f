import { hex32 } from '../../core/checksums.ts';
import { printable } from '../../core/printable.ts';
import type { Findings } from '../reading/findings.ts';
import { LIMITS } from '../../core/hostile-limits.ts';
import { DataFiles } from '../encodings/ocdbt/data-files.ts';
import { type FrameProblem, readFrame } from '../encodings/ocdbt/frame.ts';
import { type Manifest, readManifest, type VersionList } from '../encodings/ocdbt/versions.ts';
import { DatabaseWalk, type Value } from '../encodings/ocdbt/walk.ts';
import { type ByteSource, memorySource } from '../../bytes/source/byte-source.ts';
import type { Directory } from '../../bytes/source/directory.ts';
import { parseArrayKey } from '../encodings/zarr/chunk-key.ts';
import type { ArrayStore } from './array-store.ts';

/** The name of the manifest of an OCDBT database. */
export const MANIFEST = 'manifest.ocdbt';
const NUMBERED_MANIFEST = /^manifest\.[0-9a-f]{16}$/;
/** Matches the folder that one process writes before the merge. */
export const PROCESS_FOLDER = /^ocdbt\.process_/;

/**
 * Reads the databases of an item: the one that all processes' were joined into, which is the one a
 * restore reads, and what each process wrote before. Fills `store` with the arrays of the first.
 */
export function inspectDatabases(item: Directory, store: ArrayStore, of: { findings: Findings; version: 2 | 3 }): void {
  const { findings } = of;
  const files = new DataFiles(item);
  const values = new ValueReader(store, findings, of.version);
  const walker = {
    onProblem: (problem: FrameProblem, file: string, offset: number) => reportNode(item, findings, { problem, file, offset }),
  };
  const root = readManifestFile(item, findings);
  if (root !== null) new DatabaseWalk(files, '', { ...walker, onValue: (key, value) => values.add(key, value) }).walk(root);
  for (const { name, kind } of item.entries.values()) {
    const folder = kind === 'directory' && PROCESS_FOLDER.test(name) ? item.directory(name) : null;
    if (folder === null || folder.entries.size === 0) continue;
    const versions = readManifestFile(folder, findings);
    if (versions !== null) new DatabaseWalk(files, `${name}/`, { ...walker, onValue: () => {} }).walk(versions);
  }
  values.finish();
  reportFiles(item, files, findings);
}

function readManifestFile(folder: Directory, findings: Findings): VersionList | null {
  const manifest = readOneManifest(folder, MANIFEST, findings);
  if (manifest?.kind !== 'numbered') return manifest;
  // Hexadecimal numbers of one length: plain order is theirs.
  const newest = [...folder.entries.keys()]
    .filter((name) => NUMBERED_MANIFEST.test(name))
    .sort()
    .at(-1);
  const versions = readOneManifest(folder, newest ?? 'manifest.0000000000000001', findings);
  return versions?.kind === 'single' ? versions : null;
}

function readOneManifest(folder: Directory, name: string, findings: Findings): Manifest | null {
  const file = folder.pathOf(name);
  if (!folder.has(name)) {
    findings.add(
      'FILE_MISSING',
      { file },
      `${printable(file)} is missing, so the arrays in ${printable(folder.path) || 'it'} cannot be found`,
    );
    return null;
  }
  const source = folder.open(name);
  if (source.size > LIMITS.documentBytes) {
    findings.add('LIMIT_EXCEEDED', { file }, `${printable(file)} has ${source.size} bytes, at most ${LIMITS.documentBytes} are read`);
    return null;
  }
  const frame = readFrame(source.read(0, source.size), 'manifest');
  const manifest = 'problem' in frame ? null : readManifest(frame.body);
  if (manifest !== null) return manifest;
  const problem: FrameProblem = 'problem' in frame ? frame : { problem: 'corrupt', says: 'is malformed inside' };
  const { problem: kind, says, ...seen } = problem;
  findings.add(MANIFEST_CODES[kind], { file, offset: 0, ...seen }, `${printable(file)} ${says}`);
  return null;
}

const MANIFEST_CODES = { cut: 'ORBAX_MANIFEST_CUT', corrupt: 'ORBAX_MANIFEST_CORRUPT', limit: 'LIMIT_EXCEEDED' } as const;

function reportNode(item: Directory, findings: Findings, at: { problem: FrameProblem; file: string; offset: number }): void {
  const { problem, says, ...seen } = at.problem;
  const file = item.pathOf(at.file);
  const code = problem === 'limit' ? 'LIMIT_EXCEEDED' : 'ORBAX_NODE_CORRUPT';
  findings.add(code, { file, offset: at.offset, ...seen }, `${printable(file)}: the node at ${at.offset} ${says}`);
}

/**
 * Data files may go on after what is referred to: they are logs, and nodes that a newer commit
 * replaced stay in them.
 */
function reportFiles(item: Directory, files: DataFiles, findings: Findings): void {
  if (files.isTooMany) findings.add('LIMIT_EXCEEDED', { file: item.path }, 'the index names more data files than Holdfast checks');
  for (const { path, source, end } of files.used) {
    const file = item.pathOf(path);
    if (source === null) findings.add('FILE_MISSING', { file }, `${printable(file)} is missing; the index refers to it`);
    else if (end > source.size) {
      const sizes = { file, offset: source.size, expected: `${end} bytes`, found: `${source.size} bytes` };
      findings.add('ORBAX_DATA_CUT', sizes, `${printable(file)} has ${source.size} bytes, but the index refers to bytes up to ${end}`);
    }
  }
}

/**
 * Sorts values into the store, and counts what checksums cover: chunks inside a node are under the
 * node's, others under none.
 */
class ValueReader {
  readonly #store: ArrayStore;
  readonly #findings: Findings;
  readonly #version: 2 | 3;
  readonly #inline = new Map<string, { readonly node: ByteSource; bytes: number }>();

  constructor(store: ArrayStore, findings: Findings, version: 2 | 3) {
    this.#store = store;
    this.#findings = findings;
    this.#version = version;
  }

  add(key: string, value: Value): void {
    const parsed = parseArrayKey(key, this.#version);
    if (parsed === null) return;
    const isInline = 'inline' in value;
    const source = isInline ? memorySource(value.inline, value.node.file, value.node.base) : value.source;
    if (parsed.kind === 'metadata') {
      if (source !== null) this.#store.addMetadata(parsed.array, source);
      return;
    }
    const length = isInline ? value.inline.length : value.length;
    if (Number.isFinite(length)) this.#findings.payloadBytes += length;
    if (isInline) this.#addInline(value.node, length);
    this.#store.addChunk(parsed.array, parsed.at, { source, isVouched: isInline });
  }

  #addInline(node: ByteSource, bytes: number): void {
    const id = `${node.base} ${node.file}`;
    const known = this.#inline.get(id);
    if (known === undefined) this.#inline.set(id, { node, bytes });
    else known.bytes += bytes;
  }

  /** Lists one check for each node that holds chunks. */
  finish(): void {
    for (const { node, bytes } of this.#inline.values()) {
      const length = node.size - 4;
      this.#findings.addCheck({
        algorithm: 'crc32c',
        file: node.file,
        offset: node.base,
        length,
        encoding: 'stored',
        decodedLength: length,
        expected: hex32(node.read(length, 4).readUInt32LE(0)),
        what: `node at ${node.base} with small arrays`,
        code: 'ORBAX_INLINE_CHECKSUM',
        payloadBytes: bytes,
      });
    }
  }
}
