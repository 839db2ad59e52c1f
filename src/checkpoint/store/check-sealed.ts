import { join } from 'node:path';
import { printable } from '../../core/printable.ts';
import type { Evidence } from '../evidence/evidence.ts';
import { SourceError } from '../source/source-error.ts';
import { verifyPaths } from '../verify.ts';
import { checksumFiles } from './checksum-files.ts';
import type { SealedFile } from './manifest.ts';
import type { SealedCheckpoint } from './scan.ts';
import type { Store } from './store.ts';
import { isInputOutputError } from './store-error.ts';

export type CheckLevel = 'quick' | 'deep';

/** What became of a checkpoint when it was held against its seal. */
export type Checked =
  | { readonly state: 'good'; readonly level: CheckLevel }
  /** It is not what was sealed, or what was sealed cannot be loaded. */
  | { readonly state: 'bad'; readonly code: string; readonly reason: string }
  /** The disk would not say; no proof of anything. */
  | { readonly state: 'unreadable'; readonly code: string; readonly reason: string }
  /** Somebody has it open for writing. */
  | { readonly state: 'busy'; readonly code: string; readonly reason: string };

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
  return (await checkFormat(sealed, options)) ?? { state: 'good', level };
}

/** Names and sizes; null when all are as sealed. */
export function checkPresence({ fs }: Store, { root, manifest }: SealedCheckpoint): Exclude<Checked, { state: 'good' }> | null {
  for (const { path, size } of manifest.files) {
    try {
      const stat = fs.stat(join(root, path));
      if (stat === null) return bad('FILE_MISSING', `${printable(path)} is missing`);
      if (stat.kind !== 'file') return bad('FILE_NOT_REGULAR', `${printable(path)} is not a regular file any more`);
      if (stat.size !== size) {
        return bad('MANIFEST_SIZE', `${printable(path)} has ${stat.size} bytes, but ${size} were sealed`);
      }
    } catch (thrown) {
      if (isInputOutputError(thrown)) return { state: 'unreadable', code: 'FILE_NOT_READABLE', reason: message(thrown) };
      return bad('FILE_MISSING', `${printable(path)} is missing`);
    }
  }
  return null;
}

async function checkBytes(sealed: SealedCheckpoint, { signal, onBytes }: CheckOptions): Promise<Checked | null> {
  const { root, manifest, name } = sealed;
  const { files, problems } = await checksumFiles(root, manifest.files, {
    ...(signal === undefined ? {} : { signal }),
    onBytes: (done, total) => onBytes?.(done, total, name),
  });
  const refused = problems.find(({ isUnreadable }) => isUnreadable);
  if (refused !== undefined) {
    return { state: 'unreadable', code: 'FILE_NOT_READABLE', reason: `${printable(refused.path)} ${refused.problem}` };
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

/** Evidence that is no reason to doubt a seal: a run may name and count its steps as it likes. */
const IGNORED = new Set(['STEP_NOT_AS_NAMED']);

async function checkFormat({ path, root, kind, manifest }: SealedCheckpoint, { signal }: CheckOptions): Promise<Checked | null> {
  const given = kind === 'directory' ? path : join(root, manifest.files[0]?.path ?? '');
  const report = await verifyPaths([given], { level: 'quick', signal: signal ?? new AbortController().signal }).catch((thrown: unknown) => {
    if (thrown instanceof SourceError || isInputOutputError(thrown)) return null;
    throw thrown;
  });
  if (report === null) return { state: 'unreadable', code: 'FILE_NOT_READABLE', reason: 'its structure cannot be read' };
  const evidence = report.paths.flatMap(({ checkpoints }) => checkpoints.flatMap((checkpoint) => checkpoint.evidence));
  const find = (...effects: readonly Evidence['effect'][]) =>
    evidence.find(({ code, effect }) => effects.includes(effect) && !IGNORED.has(code));
  const busy = find('in-progress');
  if (busy !== undefined) return { state: 'busy', code: busy.code, reason: busy.message };
  const unreadable = evidence.find(({ code }) => code === 'FILE_NOT_READABLE');
  if (unreadable !== undefined) return { state: 'unreadable', code: unreadable.code, reason: unreadable.message };
  const wrong = find('corrupt', 'partial', 'zombie');
  return wrong === undefined ? null : bad(wrong.code, wrong.message);
}

function bad(code: string, reason: string): Extract<Checked, { state: 'bad' }> {
  return { state: 'bad', code, reason };
}

function message(thrown: unknown): string {
  return thrown instanceof Error ? printable(thrown.message) : String(thrown);
}
