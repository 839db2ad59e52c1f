import { join } from 'node:path';
import { printable } from '../../core/printable.ts';
import { EVIDENCE_CODES, type EvidenceCode } from '../evidence/catalogue.ts';
import type { Evidence } from '../evidence/evidence.ts';
import { SourceError } from '../source/source-error.ts';
import type { Verdict } from '../verdict.ts';
import { verifyPaths } from '../verify.ts';
import { checksumFiles } from './checksum-files.ts';
import type { DurableFs } from './durable-fs.ts';
import type { SealedFile } from './manifest.ts';
import type { SealedCheckpoint } from './scan.ts';
import type { Store } from './store.ts';
import { isInputOutputError } from './store-error.ts';

export type CheckLevel = 'quick' | 'deep';

/** What became of a checkpoint when it was held against its seal. */
export type Checked = { readonly state: 'good'; readonly level: CheckLevel; readonly verdict: Verdict } | Problem;

export interface Problem {
  /**
   * - `bad`: it is not what was sealed, or what was sealed cannot be loaded
   * - `unreadable`: the disk would not say; no proof of anything
   * - `busy`: somebody has it open for writing
   */
  readonly state: 'bad' | 'unreadable' | 'busy';
  readonly verdict: Verdict;
  readonly code: EvidenceCode;
  readonly reason: string;
}

export interface CheckOptions {
  readonly signal?: AbortSignal;
  readonly onBytes?: (done: number, total: number, name: string) => void;
}

/**
 * Holds a sealed checkpoint against its manifest: names and sizes (`quick`), and every byte against its checksum (`deep`). Then what the
 * format's own reader says about its structure, since a trainer can also have written nonsense that was sealed faithfully.
 */
export async function checkSealed(store: Store, sealed: SealedCheckpoint, level: CheckLevel, options: CheckOptions = {}): Promise<Checked> {
  const present = checkPresence(store, sealed);
  if (present !== null) return present;
  if (level === 'deep') {
    const bytes = await checkBytes(sealed, options);
    if (bytes !== null) return bytes;
  }
  const format = await checkFormat(sealed, options);
  if (typeof format !== 'string') return format;
  // The seal covers every byte, so that after a deep check nothing is left unchecked.
  return { state: 'good', level, verdict: format === 'UNCHECKED' && level === 'deep' ? 'RESUMABLE' : format };
}

/** Names and sizes; null when all are as sealed. No link is followed, neither to a file nor on the way to one. */
export function checkPresence({ fs }: Store, { root, manifest }: SealedCheckpoint): Problem | null {
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

async function checkBytes(sealed: SealedCheckpoint, { signal, onBytes }: CheckOptions): Promise<Problem | null> {
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

/** What the reader of its format says: the verdict, or what is wrong with it. A format nobody knows has only its seal. */
async function checkFormat({ path, root, kind, manifest }: SealedCheckpoint, { signal }: CheckOptions): Promise<Verdict | Problem> {
  const given = kind === 'directory' ? path : join(root, manifest.files[0]?.path ?? '');
  const report = await verifyPaths([given], { level: 'quick', signal: signal ?? new AbortController().signal }).catch((thrown: unknown) => {
    if (thrown instanceof SourceError || isInputOutputError(thrown)) return null;
    throw thrown;
  });
  if (report === null) return unreadable('its structure cannot be read');
  const checkpoints = report.paths.flatMap((one) => one.checkpoints);
  const evidence = checkpoints.flatMap((checkpoint) => checkpoint.evidence);
  const find = (...effects: readonly Evidence['effect'][]) =>
    evidence.find(({ code, effect }) => effects.includes(effect) && !IGNORED.has(code));
  const busy = find('in-progress');
  if (busy !== undefined) return { state: 'busy', verdict: 'IN_PROGRESS', code: busy.code, reason: busy.message };
  const refused = evidence.find(({ code }) => code === 'FILE_NOT_READABLE');
  if (refused !== undefined) return unreadable(refused.message);
  const wrong = find('corrupt', 'partial', 'zombie');
  return wrong === undefined ? (checkpoints[0]?.verdict ?? 'UNKNOWN') : bad(wrong.code, wrong.message);
}

const VERDICTS: Readonly<Partial<Record<Evidence['effect'], Verdict>>> = { partial: 'PARTIAL', zombie: 'ZOMBIE' };

function bad(code: EvidenceCode, reason: string): Problem {
  return { state: 'bad', verdict: VERDICTS[EVIDENCE_CODES[code].effect] ?? 'CORRUPT', code, reason };
}

function unreadable(reason: string): Problem {
  return { state: 'unreadable', verdict: 'UNKNOWN', code: 'FILE_NOT_READABLE', reason };
}

function message(thrown: unknown): string {
  return thrown instanceof Error ? printable(thrown.message) : String(thrown);
}
