import { join } from 'node:path';
import { printable } from '../../core/printable.ts';
import type { EvidenceCode } from '../evidence/catalogue.ts';
import { FILE_CODES } from '../evidence/codes/file.ts';
import { MANIFEST_CODES } from '../evidence/codes/manifest.ts';
import type { Evidence } from '../evidence/evidence.ts';
import { isOfNoKnownFormat } from '../no-format.ts';
import { SourceError } from '../source/source-error.ts';
import { findWriters, recentWriters } from '../source/writers.ts';
import { decideVerdict, type Verdict } from '../verdict.ts';
import type { VerifyOptions } from '../verify.ts';
import { checksumFiles } from './checksum-files.ts';
import type { DurableFs } from './durable-fs.ts';
import type { SealedFile } from './manifest.ts';
import type { SealedCheckpoint } from './scan.ts';
import type { Store } from './store.ts';
import { isInputOutputError } from './store-error.ts';

/** `seal`: names and sizes; `quick`: also the structure, as the reader of its format sees it; `deep`: also every byte. */
export type CheckLevel = 'seal' | 'quick' | 'deep';

/** What became of a checkpoint when it was held against its seal. */
export type Checked = Good | Problem;

export interface Good {
  readonly state: 'good';
  /** How far it was read; further than asked for where its structure had to be confirmed. */
  readonly level: CheckLevel;
  readonly verdict: Verdict;
  /** What the reader of its format holds against bytes that were proven when they were sealed, and have not changed. */
  readonly warning: string | null;
}

export interface Problem {
  /**
   * - `bad`: it is not what was sealed
   * - `doubted`: every byte is what was sealed, but the reader of its format finds that it cannot be loaded
   * - `unreadable`: the disk would not say; no proof of anything
   * - `busy`: somebody has it open for writing
   */
  readonly state: 'bad' | 'doubted' | 'unreadable' | 'busy';
  readonly verdict: Verdict;
  readonly code: EvidenceCode;
  readonly reason: string;
}

export interface CheckOptions {
  readonly signal?: AbortSignal;
  readonly onBytes?: (done: number, total: number, name: string) => void;
}

type Files = Pick<SealedCheckpoint, 'name' | 'root' | 'manifest'>;

/**
 * Holds a sealed checkpoint against its manifest: names and sizes, and every byte against its checksum (`deep`). Then what the format's own
 * reader says about its structure (not at `seal`), since a trainer can also have written nonsense that was sealed faithfully. Structure alone
 * condemns nothing: where it looks wrong every byte is compared, and what is as it was sealed is only doubted.
 */
export async function checkSealed(store: Store, sealed: SealedCheckpoint, level: CheckLevel, options: CheckOptions = {}): Promise<Checked> {
  const present = checkPresence(store, sealed);
  if (present !== null) return present;
  if (level === 'seal') return { state: 'good', level, verdict: 'UNCHECKED', warning: null };
  const bytes = level === 'deep' ? await checkBytes(sealed, options) : null;
  if (bytes !== null) return bytes;
  const look = await lookAsOfNow(store, sealed, options);
  if ('state' in look) return look;
  if (wrongIn(look) === undefined) return good(level, look);
  return (level === 'deep' ? null : await checkBytes(sealed, options)) ?? weigh(sealed, look);
}

/** Every byte is what was sealed. Is what the reader of the format says a reason to pass it by all the same? */
function weigh({ manifest }: SealedCheckpoint, look: Look): Checked {
  // Holes in a file whose checksums match are real zeros.
  const settled = { ...look, evidence: look.evidence.filter(({ code }) => code !== 'FILE_SPARSE') };
  const wrong = wrongIn(settled);
  if (wrong === undefined) return good('deep', settled);
  const where = wrong.file === null || wrong.message.includes(wrong.file) ? '' : `${printable(wrong.file)}: `;
  const reason = `every byte is as it was sealed, but ${where}${wrong.message}`;
  // Sealing an adopted one began with a deep look by the reader of its format: these very bytes have passed it.
  if (manifest.origin === 'adopted') return { state: 'good', level: 'deep', verdict: 'UNCHECKED', warning: reason };
  return { state: 'doubted', verdict: verdictOf(wrong.effect), code: wrong.code, reason };
}

function good(level: CheckLevel, { evidence, hasOptimizer }: Look): Good {
  const effects = new Set(evidence.map(({ effect }) => effect));
  // The seal covers every byte, so that after a deep check nothing is left unchecked.
  const integrity = level === 'deep' ? 'checked' : 'not-checked';
  return { state: 'good', level, verdict: decideVerdict({ effects, integrity, hasOptimizer }), warning: null };
}

/** Names and sizes; null when all are as sealed. No link is followed, neither to a file nor on the way to one. */
export function checkPresence({ fs }: Store, { root, manifest }: Omit<Files, 'name'>): Problem | null {
  const folders = new Set(['']);
  for (const { path, size } of manifest.files) {
    try {
      const stray = strayFolder(fs, root, path, folders);
      if (stray !== null) return bad('FILE_MISSING', `${printable(path)} is missing: ${printable(stray)} is not a folder`);
      const stat = fs.stat(join(root, path));
      if (stat === null) return bad('FILE_MISSING', `${printable(path)} is missing`);
      if (stat.kind !== 'file') return bad('FILE_NOT_REGULAR', `${printable(path)} is not a regular file any more`);
      if (stat.size !== size) return bad('MANIFEST_SIZE', `${printable(path)} has ${stat.size} bytes, but ${size} were sealed`);
    } catch (thrown) {
      if (isInputOutputError(thrown)) return unreadable(message(thrown));
      return bad('FILE_MISSING', `${printable(path)} is missing`);
    }
  }
  return null;
}

/** The first folder on the way to a file that is none, or null; those in `known` were looked at before. */
function strayFolder(fs: DurableFs, root: string, path: string, known: Set<string>): string | null {
  for (let end = path.indexOf('/'); end > 0; end = path.indexOf('/', end + 1)) {
    const folder = path.slice(0, end);
    if (known.has(folder)) continue;
    if (fs.stat(join(root, folder))?.kind !== 'folder') return folder;
    known.add(folder);
  }
  return null;
}

/** Names, sizes and every byte, whatever they mean; null when all are as sealed. */
export async function checkFiles(store: Store, sealed: Files, options: CheckOptions = {}): Promise<Problem | null> {
  return checkPresence(store, sealed) ?? (await checkBytes(sealed, options));
}

async function checkBytes(sealed: Files, { signal, onBytes }: CheckOptions): Promise<Problem | null> {
  const { root, manifest, name } = sealed;
  const { files, problems } = await checksumFiles(root, manifest.files, {
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

/** Evidence that is no reason to doubt a seal: a run may name and count its steps, and name its own files, as it likes. */
const IGNORED = new Set(['STEP_NOT_AS_NAMED', 'FILE_UNRECOGNISED']);

/** What the reader of its format found. */
interface Look {
  readonly evidence: readonly Evidence[];
  /** Also for a format that nobody knows: what is in it is its trainer's word. */
  readonly hasOptimizer: boolean;
}

/** Nobody's checkpoint is passed by because of a writer that is gone: who is said to be at work is looked for again. */
async function lookAsOfNow({ clock }: Store, sealed: SealedCheckpoint, options: CheckOptions): Promise<Look | Problem> {
  const look = await lookAtFormat(sealed, () => recentWriters(clock), options);
  return 'state' in look && look.state === 'busy' ? lookAtFormat(sealed, findWriters, options) : look;
}

async function lookAtFormat(
  { path, root, kind, manifest }: SealedCheckpoint,
  writers: NonNullable<VerifyOptions['writers']>,
  { signal }: CheckOptions,
): Promise<Look | Problem> {
  const given = kind === 'directory' ? path : join(root, manifest.files[0]?.path ?? '');
  // The readers of all formats: whoever has nothing to check, as a run that starts fresh, does not need them.
  const { verifyPaths } = await import('../verify.ts');
  const report = await verifyPaths([given], { level: 'quick', signal: signal ?? new AbortController().signal, writers }).catch(
    (thrown: unknown) => {
      if (thrown instanceof SourceError || isInputOutputError(thrown)) return null;
      throw thrown;
    },
  );
  if (report === null) return unreadable('its structure cannot be read');
  const checkpoints = report.paths.flatMap((one) => one.checkpoints);
  const evidence = checkpoints.flatMap((checkpoint) => checkpoint.evidence).filter(({ code }) => !IGNORED.has(code));
  const busy = evidence.find(({ effect }) => effect === 'in-progress');
  if (busy !== undefined) return { state: 'busy', verdict: 'IN_PROGRESS', code: busy.code, reason: busy.message };
  const refused = evidence.find(({ code }) => code === 'FILE_NOT_READABLE');
  if (refused !== undefined) return unreadable(refused.message);
  const [first] = checkpoints;
  const isOpaque = first === undefined || first.content.isOpaque || isOfNoKnownFormat(first);
  return { evidence, hasOptimizer: isOpaque || first.content.optimizer.found };
}

function wrongIn({ evidence }: Look): Evidence | undefined {
  return evidence.find(({ effect }) => ['corrupt', 'partial', 'zombie'].includes(effect));
}

const VERDICTS: Readonly<Partial<Record<Evidence['effect'], Verdict>>> = { partial: 'PARTIAL', zombie: 'ZOMBIE' };

function verdictOf(effect: Evidence['effect']): Verdict {
  return VERDICTS[effect] ?? 'CORRUPT';
}

/** What the seal itself can find wrong. The codes of all formats are as many files as the rest of this folder, and are needed with their readers. */
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
