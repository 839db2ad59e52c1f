import { createHash } from 'node:crypto';
import { HoldfastError } from '../core/errors.ts';
import { excerpt, printable } from '../core/printable.ts';
import { beyondLimits, isArray, isObject, type Json, type JsonObject, parseJson } from '../core/json.ts';
import { LIMITS } from '../core/hostile-limits.ts';
import { MANIFEST_NAME } from './names.ts';
import { pathProblem } from './relative-path.ts';

/**
 * Version of the manifest. A field may be added under the same number; a change of meaning makes a
 * new one.
 */
export const MANIFEST_SCHEMA = 'holdfast.manifest/1';
/** Checksums are over parts of this many bytes; the last one of a file may be shorter. */
export const PART_BYTES = 8 * 1024 * 1024;
/** Ranks beyond this are taken for a damaged number. */
const MAX_WORLD_SIZE = 1_000_000;

/** One file as it was sealed. */
export interface SealedFile {
  /** Below the checkpoint's folder, with `/`. */
  readonly path: string;
  readonly size: number;
  /** Of each part, in order; eight hexadecimal digits each. */
  readonly crc32c: readonly string[];
}

/** Names exactly one save. */
export interface SaveIdentity {
  readonly run: string;
  readonly attempt: number;
  readonly save: string;
  readonly step: number;
  readonly worldSize: number;
}

/** The seal of a checkpoint; documented field by field in docs/reference/manifest.md. */
export interface Manifest extends SaveIdentity {
  readonly schema: typeof MANIFEST_SCHEMA;
  /**
   * `save`: staged and committed by Holdfast; `adopted`: finished by another tool and sealed
   * afterwards.
   */
  readonly origin: 'save' | 'adopted';
  /** Id of the checkpoint's format as `verify` names it, null if it was not determined. */
  readonly format: string | null;
  /** Wall clock, ISO 8601. */
  readonly sealedAt: string;
  /** The boot of the kernel under which the checksums were computed. */
  readonly bootId: string | null;
  /** The digest of each rank's receipt, by rank; empty for an adopted checkpoint. */
  readonly receipts: readonly { readonly rank: number; readonly sha256: string }[];
  readonly files: readonly SealedFile[];
}

/** A manifest, or why a text is none. */
export type ParsedManifest =
  | { readonly ok: true; readonly manifest: Manifest }
  | {
      readonly ok: false;
      /**
       * `foreign`: of another version; `outside`: names files outside its folder; `limit`: larger
       * than Holdfast reads; `invalid`: all else.
       */
      readonly kind: 'foreign' | 'outside' | 'limit' | 'invalid';
      /** Continues "the manifest …". */
      readonly reason: string;
      /** The run in the manifest, if it can still be read. */
      readonly run: string | null;
    };

const TRAILER = /,\n"sha256":"([0-9a-f]{64})"\}\n$/;
const TRAILER_LENGTH = 79;

/**
 * The text of a manifest: JSON, a line for each file. The last line is the SHA-256 of everything
 * before that line's comma, so any language can check the seal without another file.
 */
export function formatManifest(manifest: Manifest): string {
  const { files, ...head } = manifest;
  const lines = Object.entries(head).map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`);
  const body = `{${lines.join(',\n')},\n"files":[${files.map((file) => `\n${JSON.stringify(file)}`).join(',')}]`;
  return `${body},\n"sha256":"${sha256(body)}"}\n`;
}

/** Formats a manifest for a new seal, and refuses one that Holdfast could not read. */
export function formatReadable(manifest: Manifest, path: string): string {
  const { files } = manifest;
  if (files.length > LIMITS.treeEntries) throw tooLarge(path, `would name ${files.length} files, at most ${LIMITS.treeEntries} are read`);
  const text = formatManifest(manifest);
  const bytes = Buffer.byteLength(text);
  if (bytes > LIMITS.documentBytes) throw tooLarge(path, `would have ${bytes} bytes, at most ${LIMITS.documentBytes} are read`);
  const excess = beyondLimits(text);
  if (excess !== null) throw tooLarge(path, `would have ${excess}`);
  const refusal = readFiles(files as unknown as Json);
  if ('reason' in refusal) {
    throw new HoldfastError('CHECKPOINT_NOT_SEALABLE', {
      message: `${printable(path)} cannot be sealed: its manifest ${refusal.reason}`,
      hint: 'Every file needs a unique and valid path. Rename the file.',
    });
  }
  return text;
}

function tooLarge(path: string, problem: string): HoldfastError {
  return new HoldfastError('CHECKPOINT_NOT_SEALABLE', {
    message: `${printable(path)} is too large for one seal: its manifest ${problem}`,
    hint: 'Every file, and every 8 MiB of one, has its place in the manifest. Save fewer files, or a smaller state.',
  });
}

/** The SHA-256 of a text or of bytes, in hexadecimal. */
export function sha256(text: string | Uint8Array): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Reads the text of a manifest, which may be hostile. */
export function parseManifest(text: string): ParsedManifest {
  const json = parseJson(text);
  if (!json.ok) return refused(json.limit ? 'limit' : 'invalid', json.limit ? `is too large: ${json.reason}` : 'is not JSON');
  if (!isObject(json.value)) return refused('invalid', 'is not a JSON object');
  const value = json.value;
  const run = typeof value['run'] === 'string' ? value['run'] : null;
  const schema = value['schema'];
  if (schema !== MANIFEST_SCHEMA) {
    const isForeign = typeof schema === 'string' && schema.startsWith('holdfast.manifest/');
    const shown = typeof schema === 'string' ? `"${excerpt(schema, 40)}"` : 'no version';
    return { ...refused(isForeign ? 'foreign' : 'invalid', `has ${shown} as its schema, not ${MANIFEST_SCHEMA}`), run };
  }
  const problem = sealProblem(text);
  if (problem !== null) return { ...refused('invalid', problem), run };
  const manifest = readManifest(value);
  return 'reason' in manifest ? { ...refused(manifest.kind, manifest.reason), run } : { ok: true, manifest };
}

function refused(kind: 'foreign' | 'outside' | 'limit' | 'invalid', reason: string) {
  return { ok: false, kind, reason, run: null } as const;
}

function sealProblem(text: string): string | null {
  const match = TRAILER.exec(text.slice(-TRAILER_LENGTH));
  if (match === null) return 'does not end with its own digest';
  return sha256(text.slice(0, -TRAILER_LENGTH)) === match[1] ? null : 'does not match its own digest: it was changed after it was sealed';
}

interface Refusal {
  readonly kind: 'outside' | 'limit' | 'invalid';
  readonly reason: string;
}

function readManifest(value: JsonObject): Manifest | Refusal {
  const identity = readIdentity(value);
  if ('reason' in identity) return identity;
  const { origin, format, sealedAt, bootId } = value;
  if (origin !== 'save' && origin !== 'adopted') return invalid('does not say where the checkpoint came from');
  if (typeof sealedAt !== 'string' || Number.isNaN(Date.parse(sealedAt))) return invalid('has no time');
  const receipts = readReceipts(value['receipts'], identity.worldSize, origin);
  if ('reason' in receipts) return receipts;
  const files = readFiles(value['files']);
  if ('reason' in files) return files;
  return {
    schema: MANIFEST_SCHEMA,
    ...identity,
    origin,
    format: typeof format === 'string' ? format : null,
    sealedAt,
    bootId: typeof bootId === 'string' ? bootId : null,
    receipts,
    files,
  };
}

function invalid(reason: string): Refusal {
  return { kind: 'invalid', reason };
}

/** The five values that name a save, or the reason of a refusal. */
export function readIdentity(value: JsonObject): SaveIdentity | Refusal {
  const { run, attempt, save, step, worldSize } = value;
  if (typeof run !== 'string' || run === '' || run.length > 200) return invalid('names no run');
  if (typeof save !== 'string' || save === '' || save.length > 200) return invalid('names no save');
  if (!isCount(attempt)) return invalid('has no attempt number');
  if (!isCount(step)) return invalid('has no step');
  if (!isCount(worldSize) || worldSize < 1 || worldSize > MAX_WORLD_SIZE) return invalid('has no world size');
  return { run, attempt, save, step, worldSize };
}

/** True for a whole number from 0 on that JavaScript holds exactly. */
export function isCount(value: Json | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function readReceipts(value: Json | undefined, worldSize: number, origin: Manifest['origin']): Manifest['receipts'] | Refusal {
  if (!isArray(value)) return invalid('has no list of receipts');
  const expected = origin === 'save' ? worldSize : 0;
  if (value.length !== expected) return invalid(`names ${value.length} receipts of ${expected} ranks`);
  const receipts: { rank: number; sha256: string }[] = [];
  for (const [index, entry] of value.entries()) {
    if (!isObject(entry) || entry['rank'] !== index) return invalid(`does not name the receipt of rank ${index}`);
    const digest = entry['sha256'];
    if (typeof digest !== 'string' || !/^[0-9a-f]{64}$/.test(digest)) return invalid(`has no digest of the receipt of rank ${index}`);
    receipts.push({ rank: index, sha256: digest });
  }
  return receipts;
}

/**
 * The list of files, or the reason of a refusal. Every path is safe and appears once, and every
 * size has as many checksums as parts.
 */
export function readFiles(value: Json | undefined): readonly SealedFile[] | Refusal {
  if (!isArray(value)) return invalid('has no list of files');
  if (value.length > LIMITS.treeEntries) {
    return { kind: 'limit', reason: `names ${value.length} files, at most ${LIMITS.treeEntries} are read` };
  }
  const seen = new Set<string>();
  const files: SealedFile[] = [];
  for (const entry of value) {
    const file = readFile(entry);
    if ('reason' in file) return file;
    if (seen.has(file.path)) return invalid(`names "${excerpt(file.path)}" twice`);
    seen.add(file.path);
    files.push(file);
  }
  return files;
}

function readFile(entry: Json): SealedFile | Refusal {
  if (!isObject(entry)) return invalid('has an entry in its list of files that is not a file');
  const { path, size, crc32c } = entry;
  if (typeof path !== 'string') return invalid('has a file without a path');
  const problem = pathProblem(path);
  if (problem !== null) return { kind: 'outside', reason: `names "${excerpt(path)}", a path that ${problem}` };
  if (path === MANIFEST_NAME) return invalid('names itself');
  if (!isCount(size)) return invalid(`has no size of "${excerpt(path)}"`);
  const parts = Math.ceil(size / PART_BYTES);
  if (!isArray(crc32c) || crc32c.length !== parts) return invalid(`does not have the ${parts} checksums of "${excerpt(path)}"`);
  for (const sum of crc32c) {
    if (typeof sum !== 'string' || !/^[0-9a-f]{8}$/.test(sum)) return invalid(`has an invalid checksum of "${excerpt(path)}"`);
  }
  return { path, size, crc32c: crc32c as readonly string[] };
}
