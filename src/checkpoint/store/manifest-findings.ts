import { hex32 } from '../../core/checksums.ts';
import { printable } from '../../core/printable.ts';
import type { Check } from '../deep/check.ts';
import { combineCrc } from '../deep/crc-combine.ts';
import type { Findings } from '../findings.ts';
import { isLeftover } from '../leftovers.ts';
import { LIMITS } from '../limits.ts';
import type { Directory, Entry } from '../source/directory.ts';
import { SourceError } from '../source/source-error.ts';
import { filesBelow, type Unit } from '../unit.ts';
import { BESIDE_SUFFIX, MANIFEST_NAME } from './layout.ts';
import { type Manifest, PART_BYTES, parseManifest, type SealedFile } from './manifest.ts';

/** Parts are compared together where a checkpoint has more of them than this (400 GiB): each check takes memory. */
const MOST_CHECKS = 50_000;

/** The manifest that speaks about a checkpoint, and the folder its paths start from. */
interface Seal {
  readonly directory: Directory;
  /** Path of the manifest below the root. */
  readonly file: string;
  /** Null when it is too long. */
  readonly text: string | null;
  /** Why it could not be read. */
  readonly problem: SourceError | null;
}

/**
 * Adds what the seal of a checkpoint says, where it has one: files that are missing, of another size or unknown to it, and a checksum
 * for every part of every file, so that also formats without checksums of their own can be checked. Nothing outside the folder is read.
 */
export function addManifestFindings(root: Directory, unit: Unit, findings: Findings): void {
  const seal = findSeal(root, unit);
  if (seal === null) return;
  const { file } = seal;
  if (seal.problem !== null) {
    findings.add(seal.problem.evidence, { file }, seal.problem.message);
    return;
  }
  if (seal.text === null) {
    findings.add('LIMIT_EXCEEDED', { file }, `${printable(file)} is longer than the ${LIMITS.documentBytes} bytes that are read`);
    return;
  }
  const parsed = parseManifest(seal.text);
  if (!parsed.ok) {
    const code = (
      { foreign: 'MANIFEST_FOREIGN', outside: 'MANIFEST_OUTSIDE', limit: 'LIMIT_EXCEEDED', invalid: 'MANIFEST_INVALID' } as const
    )[parsed.kind];
    findings.add(code, { file }, `the manifest ${printable(file)} ${parsed.reason}`);
    return;
  }
  compareFiles(seal, parsed.manifest, unit, findings);
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
      findings.add('FILE_NOT_REGULAR', { file }, `${printable(file)} was sealed as a regular file and is none any more`);
    } else if (entry.size !== sealed.size) {
      const where = { file, expected: `${sealed.size} bytes`, found: `${entry.size} bytes` };
      findings.add('MANIFEST_SIZE', where, `${printable(file)} has ${entry.size} bytes, but ${sealed.size} were sealed`);
    } else if (present.has(file)) for (const check of checksOf(file, sealed, partsAtOnce)) covered.push(check);
  }
  // A seal inside a folder speaks for all of it, also where the checkpoint is only some of its files.
  const around = seal.file.endsWith(MANIFEST_NAME) ? filesBelow(seal.directory) : present;
  const strangers = [...around].filter(([file, entry]) => !named.has(file) && !isBookkeeping(file, entry));
  for (const [file] of strangers)
    findings.add('MANIFEST_UNNAMED', { file }, `${printable(file)} was added after the checkpoint was sealed`);
  take(covered, present, seal.file, findings);
}

/** The seal covers whole files, so that all of their bytes count as payload, besides what the format checks itself. */
function take(covered: readonly Check[], present: ReadonlyMap<string, Entry>, manifestFile: string, findings: Findings): void {
  findings.payloadBytes = findings.coverage.payloadBytes;
  for (const [file, entry] of present) {
    if (entry.kind === 'file' && file !== manifestFile && !isBookkeeping(file, entry)) findings.payloadBytes += entry.size;
  }
  for (const check of covered) findings.addCheck(check);
}

/** No part of what is sealed: second names, other manifests, leftovers of interrupted saves (which have evidence of their own). */
function isBookkeeping(file: string, entry: Entry): boolean {
  if (entry.isLink && entry.kind === 'file') return true;
  const names = file.split('/');
  return names.some(isLeftover) || (names.at(-1) ?? '').endsWith(BESIDE_SUFFIX);
}

/** A check for every so many parts; of several the checksum is put together from theirs. */
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

/** The manifest beside the files of a checkpoint, or the one in its folder, or in the nearest folder above it. */
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
    // Opening says what is wrong with a manifest that is no regular file.
    directory.open(name);
    return { directory, file, text: directory.readText(name), problem: null };
  } catch (thrown) {
    if (!(thrown instanceof SourceError)) throw thrown;
    return { directory, file, text: null, problem: thrown };
  }
}
