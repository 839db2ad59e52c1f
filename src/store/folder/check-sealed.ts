import { realpathSync } from 'node:fs';
import { join, relative } from 'node:path';
import { printable } from '../../core/printable.ts';
import type { EvidenceCode } from '../../evidence/catalogue.ts';
import { FILE_CODES } from '../../evidence/codes/file.ts';
import { MANIFEST_CODES } from '../../evidence/codes/manifest.ts';
import type { Evidence } from '../../evidence/evidence.ts';
import { isOfNoKnownFormat } from '../../verify/no-format.ts';
import { SourceError } from '../../bytes/source/source-error.ts';
import { findWriters, recentWriters } from '../../bytes/source/writers.ts';
import { decideVerdict, type Verdict } from '../../verify/verdict.ts';
import type { VerifyOptions } from '../../verify/verify.ts';
import { checksumFiles } from '../disk/checksum-files.ts';
import type { DurableFs } from '../disk/durable-fs.ts';
import type { SealedFile } from '../../seal/manifest.ts';
import type { SealedCheckpoint } from './scan.ts';
import type { Store } from './store.ts';
import { isInputOutputError } from '../disk/store-error.ts';

/**
 * `seal`: names and sizes; `quick`: also the structure, as the reader of its format sees it;
 * `deep`: also every byte.
 */
export type CheckLevel = 'seal' | 'quick' | 'deep';

/** The result of a comparison of a checkpoint with its seal. */
export type Checked = Good | Problem;

/** A checkpoint that matches its seal. */
export interface Good {
  readonly state: 'good';
  /** How far it was read: deeper than requested where its structure needed confirmation. */
  readonly level: CheckLevel;
  readonly verdict: Verdict;
  /**
   * A doubt of the format's reader about bytes that were verified when sealed, and have not
   * changed.
   */
  readonly warning: string | null;
}

/** A checkpoint to skip, and why. */
export interface Problem {
  /**
   * - `bad`: it differs from its seal
   * - `doubted`: every byte is as sealed, but the reader of its format finds that it cannot be
   * loaded
   * - `unreadable`: the disk failed to read it, which proves nothing
   * - `busy`: a process has it open for writing
   */
  readonly state: 'bad' | 'doubted' | 'unreadable' | 'busy';
  readonly verdict: Verdict;
  readonly code: EvidenceCode;
  readonly reason: string;
}

/** How to abort a check, and how to report its progress. */
export interface CheckOptions {
  readonly signal?: AbortSignal;
  readonly onBytes?: (done: number, total: number, name: string) => void;
}

type Files = Pick<SealedCheckpoint, 'name' | 'root' | 'manifest'>;

/**
 * Compares a sealed checkpoint with its manifest: names and sizes, and every byte against its
 * checksum (`deep`). Above `seal` it also asks the format's own reader about the structure, since a
 * trainer can write nonsense that is then sealed faithfully. Structure alone never makes a
 * checkpoint bad. Where it looks wrong every byte is compared, and a checkpoint with unchanged
 * bytes is only doubted.
 */
export async function checkSealed(store: Store, sealed: SealedCheckpoint, level: CheckLevel, options: CheckOptions = {}): Promise<Checked> {
  const present = checkPresence(store, sealed);
  if (present !== null) return present;
  if (level === 'seal') return { state: 'good', level, verdict: 'UNCHECKED', warning: null };
  const bytes = level === 'deep' ? await checkBytes(store, sealed, options) : null;
  if (bytes !== null) return bytes;
  const look = await lookAsOfNow(store, sealed, options);
  if ('state' in look) return look;
  if (wrongIn(look) === undefined) return good(level, look);
  return (level === 'deep' ? null : await checkBytes(store, sealed, options)) ?? weigh(sealed, look);
}

/**
 * Decides whether the reader's finding is a reason to skip a checkpoint whose every byte is as
 * sealed.
 */
function weigh({ manifest }: SealedCheckpoint, look: Look): Checked {
  // Holes in a file whose checksums match are real zeros.
  const settled = { ...look, evidence: look.evidence.filter(({ code }) => code !== 'FILE_SPARSE') };
  const wrong = wrongIn(settled);
  if (wrong === undefined) return good('deep', settled);
  const where = wrong.file === null || wrong.message.includes(wrong.file) ? '' : `${printable(wrong.file)}: `;
  const reason = `every byte matches the seal, but ${where}${wrong.message}`;
  // The seal of an adopted checkpoint began with a deep check by the reader of its format, which
  // these same bytes passed.
  if (manifest.origin === 'adopted') return { state: 'good', level: 'deep', verdict: 'UNCHECKED', warning: reason };
  return { state: 'doubted', verdict: verdictOf(wrong.effect), code: wrong.code, reason };
}

function good(level: CheckLevel, { evidence, hasOptimizer }: Look): Good {
  const effects = new Set(evidence.map(({ effect }) => effect));
  // The seal covers every byte, so a deep check leaves nothing unchecked.
  const integrity = level === 'deep' ? 'checked' : 'not-checked';
  return { state: 'good', level, verdict: decideVerdict({ effects, integrity, hasOptimizer }), warning: null };
}

/**
 * Checks names and sizes; null when all are as sealed. It follows no link, neither to a file nor on
 * the way to one.
 */
export function checkPresence({ fs }: Store, { root, manifest }: Omit<Files, 'name'>): Problem | null {
  const folders = new Set(['']);
  for (const { path, size } of manifest.files) {
    try {
      const stray = strayFolder(fs, root, path, folders);
      if (stray !== null) return bad('FILE_MISSING', `${printable(path)} is missing: ${printable(stray)} is not a folder`);
      const stat = fs.stat(join(root, path));
      if (stat === null) return bad('FILE_MISSING', `${printable(path)} is missing`);
      if (stat.kind !== 'file') return bad('FILE_NOT_REGULAR', `${printable(path)} is no longer a regular file`);
      if (stat.size !== size) return bad('MANIFEST_SIZE', `${printable(path)} has ${stat.size} bytes, but ${size} were sealed`);
    } catch (thrown) {
      if (isInputOutputError(thrown)) return unreadable(message(thrown));
      return bad('FILE_MISSING', `${printable(path)} is missing`);
    }
  }
  return null;
}

/**
 * Returns the first entry on the way to a file that is no folder, or null; it skips the folders in
 * `known`.
 */
function strayFolder(fs: DurableFs, root: string, path: string, known: Set<string>): string | null {
  for (let end = path.indexOf('/'); end > 0; end = path.indexOf('/', end + 1)) {
    const folder = path.slice(0, end);
    if (known.has(folder)) continue;
    if (fs.stat(join(root, folder))?.kind !== 'folder') return folder;
    known.add(folder);
  }
  return null;
}

/** Checks names, sizes and every byte, but not the structure; null when all are as sealed. */
export async function checkFiles(store: Store, sealed: Files, options: CheckOptions = {}): Promise<Problem | null> {
  return checkPresence(store, sealed) ?? (await checkBytes(store, sealed, options));
}

async function checkBytes({ path }: Store, sealed: Files, { signal, onBytes }: CheckOptions): Promise<Problem | null> {
  const { root, manifest, name } = sealed;
  const { files, problems } = await checksumFiles(root, manifest.files, {
    beneath: path,
    ...(signal === undefined ? {} : { signal }),
    onBytes: (done, total) => onBytes?.(done, total, name),
  });
  const refused = problems.find(({ isUnreadable }) => isUnreadable);
  if (refused !== undefined) {
    return unreadable(`${printable(refused.path)} ${refused.problem}`);
  }
  const [short] = problems;
  if (short !== undefined) return bad('MANIFEST_SIZE', `${printable(short.path)}: ${short.problem}`);
  for (const [index, file] of files.entries()) {
    const part = differingPart(manifest.files[index], file);
    if (part >= 0) return bad('MANIFEST_CHECKSUM', `part ${part} of ${printable(file.path)} does not match its crc32c checksum`);
  }
  return null;
}

function differingPart(sealed: SealedFile | undefined, found: SealedFile): number {
  return found.crc32c.findIndex((sum, index) => sum !== sealed?.crc32c[index]);
}

/**
 * Evidence that is no reason to doubt a seal: a run may name and count its steps, and name its own
 * files, freely.
 */
const IGNORED = new Set(['STEP_NOT_AS_NAMED', 'FILE_UNRECOGNISED']);

/** The findings of the format's reader. */
interface Look {
  readonly evidence: readonly Evidence[];
  /** True also for an unknown format, where the trainer's word counts. */
  readonly hasOptimizer: boolean;
}

/**
 * Looks again for a writer that a recent list shows, so that a writer that has ended does not make
 * a checkpoint `busy`.
 */
async function lookAsOfNow(store: Store, sealed: SealedCheckpoint, options: CheckOptions): Promise<Look | Problem> {
  const look = await lookAtFormat(store, sealed, { ...options, writers: () => recentWriters(store.clock) });
  return 'state' in look && look.state === 'busy' ? lookAtFormat(store, sealed, { ...options, writers: findWriters }) : look;
}

async function lookAtFormat(
  store: Store,
  { path, root, kind, manifest }: SealedCheckpoint,
  { signal, writers }: CheckOptions & { readonly writers: NonNullable<VerifyOptions['writers']> },
): Promise<Look | Problem> {
  const listed = kind === 'directory' ? path : join(root, manifest.files[0]?.path ?? '');
  const given = exactPath(store, listed);
  // This loads the readers of all formats, which a run that starts fresh does not need.
  const { verifyPaths } = await import('../../verify/verify.ts');
  const report = await verifyPaths([given ?? listed], {
    level: 'quick',
    signal: signal ?? new AbortController().signal,
    writers,
    isExact: given !== null,
  }).catch((thrown: unknown) => {
    if (thrown instanceof SourceError || isInputOutputError(thrown)) return null;
    throw thrown;
  });
  if (report === null) return unreadable('its structure cannot be read');
  const checkpoints = report.paths.flatMap((one) => one.checkpoints);
  const evidence = checkpoints.flatMap((checkpoint) => checkpoint.evidence).filter(({ code }) => !IGNORED.has(code));
  const busy = evidence.find(({ effect }) => effect === 'in-progress');
  if (busy !== undefined) return { state: 'busy', verdict: 'IN_PROGRESS', code: busy.code, reason: busy.message };
  const refused = evidence.find(({ code }) => code === 'FILE_NOT_READABLE');
  if (refused !== undefined) return unreadable(refused.message);
  const [first] = checkpoints;
  const isOpaque = first === undefined || first.content.isOpaque || isOfNoKnownFormat(first);
  // A trainer made the save to resume from it, and some optimizers keep no state.
  return { evidence, hasOptimizer: manifest.origin === 'save' || isOpaque || first.content.optimizer.found };
}

/** Returns the path inside the run's folder without links; null for a path outside. */
function exactPath({ path: run }: Store, path: string): string | null {
  const below = relative(run, path);
  return below.startsWith('..') ? null : join(realpathSync(run), below);
}

function wrongIn({ evidence }: Look): Evidence | undefined {
  return evidence.find(({ effect }) => ['corrupt', 'partial', 'zombie'].includes(effect));
}

const VERDICTS: Readonly<Partial<Record<Evidence['effect'], Verdict>>> = { partial: 'PARTIAL', zombie: 'ZOMBIE' };

function verdictOf(effect: Evidence['effect']): Verdict {
  return VERDICTS[effect] ?? 'CORRUPT';
}

/**
 * The codes that the seal itself can cause. The codes of all formats load only with their readers.
 */
const SEAL_CODES = { ...FILE_CODES, ...MANIFEST_CODES };

function bad(code: keyof typeof SEAL_CODES, reason: string): Problem {
  return { state: 'bad', verdict: verdictOf(SEAL_CODES[code].effect), code, reason };
}

function unreadable(reason: string): Problem {
  return { state: 'unreadable', verdict: 'UNKNOWN', code: 'FILE_NOT_READABLE', reason };
}

function message(thrown: unknown): string {
  return thrown instanceof Error ? printable(thrown.message) : String(thrown);
}
