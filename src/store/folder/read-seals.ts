import { join } from 'node:path';
import { excerpt, printable } from '../../core/printable.ts';
import { LIMITS } from '../../core/hostile-limits.ts';
import type { DurableFs } from '../disk/durable-fs.ts';
import { BESIDE_SUFFIX, MANIFEST_NAME, setOf } from '../../seal/names.ts';
import { type ParsedManifest, parseManifest } from '../../seal/manifest.ts';
import { isCode } from '../disk/store-error.ts';

/** A manifest that was found in a folder of checkpoints. */
export interface FoundSeal {
  /** The name of the checkpoint in the folder: `step-200`, `model.pt`. */
  readonly name: string;
  /** `directory`: the manifest lies inside; `files`: it lies beside the files it names. */
  readonly kind: 'directory' | 'files';
  readonly manifestFile: string;
  /** The content, or the system's error when it could not be read. */
  readonly parsed: ParsedManifest | { readonly ok: false; readonly kind: 'unreadable'; readonly reason: string; readonly run: null };
}

/**
 * Reads every manifest of the checkpoints in a folder. It skips links and names that begin with a
 * dot.
 */
export function readSeals(fs: DurableFs, folder: string): readonly FoundSeal[] {
  const seals: FoundSeal[] = [];
  for (const name of fs.list(folder)) {
    if (name.startsWith('.')) continue;
    const seal = name.endsWith(BESIDE_SUFFIX) ? besideSeal(fs, folder, name) : insideSeal(fs, folder, name);
    if (seal !== null) seals.push(seal);
  }
  return seals;
}

/** Reads the seal inside a folder; null when there is none, and for a link. */
export function insideSeal(fs: DurableFs, folder: string, name: string): FoundSeal | null {
  if (fs.stat(join(folder, name))?.kind !== 'folder') return null;
  const manifestFile = join(folder, name, MANIFEST_NAME);
  const parsed = readManifestFile(fs, manifestFile);
  return parsed === null ? null : { name, kind: 'directory', manifestFile, parsed };
}

/** Reads a seal beside its files; null when there is none. */
export function besideSeal(fs: DurableFs, folder: string, name: string): FoundSeal | null {
  const manifestFile = join(folder, name);
  const parsed = readManifestFile(fs, manifestFile);
  if (parsed === null) return null;
  const own = name.slice(0, -BESIDE_SUFFIX.length);
  // A move or a deletion of this checkpoint takes the files it names, so it may name only its own.
  const other = parsed.ok ? parsed.manifest.files.find(({ path }) => path !== own && setOf(path) !== own) : undefined;
  const reason = `lies beside its files, but names "${excerpt(other?.path ?? '')}", which is not called like it`;
  return {
    name: own,
    kind: 'files',
    manifestFile,
    parsed: other === undefined ? parsed : { ok: false, kind: 'outside', reason, run: null },
  };
}

/** Reads and parses a manifest; null when there is none. */
export function readManifestFile(fs: DurableFs, file: string): FoundSeal['parsed'] | null {
  try {
    const stat = fs.stat(file);
    if (stat === null) return null;
    if (stat.kind !== 'file') return { ok: false, kind: 'invalid', reason: 'is not a regular file', run: null };
    if (stat.size > LIMITS.documentBytes) {
      return { ok: false, kind: 'limit', reason: `has ${stat.size} bytes, at most ${LIMITS.documentBytes} are read`, run: null };
    }
    return parseManifest(fs.readFile(file).toString('utf8'));
  } catch (thrown) {
    if (isCode(thrown, 'ENOENT', 'ENOTDIR')) return null;
    const reason = `cannot be read: ${printable(thrown instanceof Error ? thrown.message : String(thrown))}`;
    return { ok: false, kind: 'unreadable', reason, run: null };
  }
}

/**
 * Returns the run that all sealed checkpoints of a folder belong to; null when there are none, or
 * several runs.
 */
export function runOfSeals(seals: readonly FoundSeal[]): string | null {
  const [only, ...others] = runsOfSeals(seals);
  return others.length === 0 ? (only ?? null) : null;
}

/** Lists the runs that the sealed checkpoints of a folder belong to. */
export function runsOfSeals(seals: readonly FoundSeal[]): readonly string[] {
  return [...new Set(seals.flatMap(({ parsed }) => (parsed.ok ? [parsed.manifest.run] : [])))];
}
