import { hex32 } from '../core/checksums.ts';
import { printable } from '../core/printable.ts';
import type { Check } from '../bytes/hashing/check.ts';
import { combineCrc } from '../bytes/hashing/crc-combine.ts';
import type { Findings } from '../formats/reading/findings.ts';
import { isLeftover } from '../formats/reading/save-leftovers.ts';
import { LIMITS } from '../core/hostile-limits.ts';
import type { Directory, Entry } from '../bytes/source/directory.ts';
import { SourceError } from '../bytes/source/source-error.ts';
import { filesBelow, type Unit } from '../formats/reading/unit.ts';
import { BESIDE_SUFFIX, MANIFEST_NAME } from '../seal/names.ts';
import { type Manifest, PART_BYTES, parseManifest, type SealedFile } from '../seal/manifest.ts';

/**
 * A checkpoint with more parts than this (400 GiB) gets one check for several parts: each check
 * takes memory.
 */
const MOST_CHECKS = 50_000;

/** The manifest of a checkpoint, and the folder at which its paths start. */
interface Seal {
  readonly directory: Directory;
  /** Path of the manifest below the root. */
  readonly file: string;
  /** Null if it is too long. */
  readonly text: string | null;
  /** Why it could not be read. */
  readonly problem: SourceError | null;
}

/**
 * Adds the findings from the seal of a checkpoint: missing files, files of another size and unknown
 * files. Also adds a checksum for every part of every file, so formats without checksums can be
 * checked too. Reads nothing outside the folder. Returns the content of the seal; null without a
 * readable one.
 */
export function addManifestFindings(root: Directory, unit: Unit, findings: Findings): Manifest | null {
  const seal = findSeal(root, unit);
  if (seal === null) return null;
  const { file } = seal;
  if (seal.problem !== null) {
    findings.add(seal.problem.evidence, { file }, seal.problem.message);
    return null;
  }
  if (seal.text === null) {
    findings.add('LIMIT_EXCEEDED', { file }, `${printable(file)} is longer than the ${LIMITS.documentBytes} bytes that are read`);
    return null;
  }
  const parsed = parseManifest(seal.text);
  if (!parsed.ok) {
    const code = (
      { foreign: 'MANIFEST_FOREIGN', outside: 'MANIFEST_OUTSIDE', limit: 'LIMIT_EXCEEDED', invalid: 'MANIFEST_INVALID' } as const
    )[parsed.kind];
    findings.add(code, { file }, `the manifest ${printable(file)} ${parsed.reason}`);
    return null;
  }
  compareFiles(seal, parsed.manifest, unit, findings);
  return parsed.manifest;
}

function compareFiles(seal: Seal, manifest: Manifest, unit: Unit, findings: Findings): void {
  const present = unit.files();
  const named = new Set<string>([seal.file]);
  const covered: Check[] = [];
  const parts = manifest.files.reduce((sum, { crc32c }) => sum + crc32c.length, 0);
  const partsAtOnce = Math.max(1, Math.ceil(parts / MOST_CHECKS));
  for (const sealed of manifest.files) {
    const file = seal.directory.pathOf(sealed.path);
    named.add(file);
    const entry = present.get(file) ?? lookUp(seal.directory, sealed.path);
    if (entry === null) {
      findings.add('FILE_MISSING', { file }, `${printable(file)} was sealed with this checkpoint and is missing`);
    } else if (entry.kind !== 'file') {
      findings.add('FILE_NOT_REGULAR', { file }, `${printable(file)} was sealed as a regular file and is no longer one`);
    } else if (entry.size !== sealed.size) {
      const where = { file, expected: `${sealed.size} bytes`, found: `${entry.size} bytes` };
      findings.add('MANIFEST_SIZE', where, `${printable(file)} has ${entry.size} bytes, but ${sealed.size} were sealed`);
    } else if (present.has(file)) for (const check of checksOf(file, sealed, partsAtOnce)) covered.push(check);
  }
  // A seal inside a folder covers all of it, even if the checkpoint is only some of its files.
  const around = seal.file.endsWith(MANIFEST_NAME) ? filesBelow(seal.directory) : present;
  const strangers = [...around].filter(([file, entry]) => !named.has(file) && !isBookkeeping(file, entry));
  for (const [file] of strangers)
    findings.add('MANIFEST_UNNAMED', { file }, `${printable(file)} was added after the checkpoint was sealed`);
  take(covered, present, seal.file, findings);
}

/**
 * The seal covers whole files, so all of their bytes count as payload, in addition to the format's
 * own checks.
 */
function take(covered: readonly Check[], present: ReadonlyMap<string, Entry>, manifestFile: string, findings: Findings): void {
  findings.payloadBytes = findings.coverage.payloadBytes;
  for (const [file, entry] of present) {
    if (entry.kind === 'file' && file !== manifestFile && !isBookkeeping(file, entry)) findings.payloadBytes += entry.size;
  }
  for (const check of covered) findings.addCheck(check);
}

/**
 * Not sealed: second names, other manifests, and leftovers of interrupted saves, which have
 * evidence of their own.
 */
function isBookkeeping(file: string, entry: Entry): boolean {
  if (entry.isLink && entry.kind === 'file') return true;
  const names = file.split('/');
  return names.some(isLeftover) || (names.at(-1) ?? '').endsWith(BESIDE_SUFFIX);
}

/** Makes one check for this many parts; its checksum is combined from theirs. */
export function* checksOf(file: string, { size, crc32c }: SealedFile, partsAtOnce: number): Generator<Check> {
  for (let first = 0; first < crc32c.length; first += partsAtOnce) {
    const sums = crc32c.slice(first, first + partsAtOnce);
    const offset = first * PART_BYTES;
    const length = Math.min(sums.length * PART_BYTES, size - offset);
    const range = { offset, length, decodedLength: length, payloadBytes: length };
    const what = sums.length === 1 ? `part ${first}` : `parts ${first} to ${first + sums.length - 1}`;
    yield { algorithm: 'crc32c', file, encoding: 'stored', ...range, expected: join(sums, length), what, code: 'MANIFEST_CHECKSUM' };
  }
}

function join([start = '', ...rest]: readonly string[], length: number): string {
  let sum = Number.parseInt(start, 16);
  for (const [index, next] of rest.entries()) {
    sum = combineCrc('crc32c', sum, Number.parseInt(next, 16), Math.min(PART_BYTES, length - (index + 1) * PART_BYTES));
  }
  return hex32(sum);
}

/** A file below a folder by its path; null when there is none. */
function lookUp(directory: Directory, path: string): Entry | null {
  const names = path.split('/');
  let folder: Directory | null = directory;
  for (const name of names.slice(0, -1)) folder = folder?.directory(name) ?? null;
  return folder?.entries.get(names.at(-1) ?? '') ?? null;
}

/**
 * The manifest beside the files of a checkpoint, or the one in its folder, or in the nearest folder
 * above it.
 */
function findSeal(root: Directory, unit: Unit): Seal | null {
  if (unit.kind !== 'directory') {
    const name = `${unit.path.split('/').at(-1) ?? ''}${BESIDE_SUFFIX}`;
    if (unit.directory.has(name)) return readSeal(unit.directory, name);
  }
  for (const folder of foldersTo(root, unit.directory.path).reverse()) {
    if (folder.has(MANIFEST_NAME)) return readSeal(folder, MANIFEST_NAME);
  }
  return null;
}

function foldersTo(root: Directory, path: string): Directory[] {
  const folders = [root];
  for (const name of path === '' ? [] : path.split('/')) {
    const next = folders.at(-1)?.directory(name);
    if (next === null || next === undefined) break;
    folders.push(next);
  }
  return folders;
}

function readSeal(directory: Directory, name: string): Seal {
  const file = directory.pathOf(name);
  try {
    // The open fails with a reason if a manifest is no regular file.
    directory.open(name);
    return { directory, file, text: directory.readText(name), problem: null };
  } catch (thrown) {
    if (!(thrown instanceof SourceError)) throw thrown;
    return { directory, file, text: null, problem: thrown };
  }
}
