import { excerpt } from '../../core/printable.ts';
import { needOfKey } from '../reading/content-names.ts';
import { volume } from '../dcp/chunks.ts';
import type { Findings } from '../reading/findings.ts';
import type { ByteSource } from '../../bytes/source/byte-source.ts';
import { stateOfName } from '../reading/tensor-names.ts';
import { torchScalar } from '../reading/torch-dtypes.ts';
import type { SnapshotManifest, StoredPart } from './snapshot-manifest.ts';

/** Parts of a path that may stand for the state's own folders, after the rank. */
const STATE_DEPTH = 2;

/** What the paths of the manifest promise, and the steps that stand in it. */
export function noteManifest(manifest: SnapshotManifest, file: string, findings: Findings): void {
  const { content } = findings;
  const ranks = new Set<number>();
  for (const part of manifest.parts) {
    const { rank, rest } = splitRank(part.path);
    const need = stateOfName(rest, STATE_DEPTH) ?? (part.dtype === null ? null : 'weights');
    if (need === null) continue;
    content.add(need, `${file}: ${excerpt(rootOf(rest))}`);
    if (need === 'rng' && rank !== null) ranks.add(rank);
  }
  for (const rank of ranks) content.addRank(rank);
  content.worldSize ??= manifest.worldSize;
  if (ranks.size > 0) content.rngRanks.expected ??= manifest.worldSize;
  noteValues(manifest, file, findings);
}

/** Values that stand in the manifest itself: a scheduler is often nothing else. */
function noteValues({ paths, integers }: SnapshotManifest, file: string, { content }: Findings): void {
  for (const path of paths) {
    const { rest } = splitRank(path);
    if (stateOfName(rest, STATE_DEPTH) === 'scheduler') content.add('scheduler', `${file}: ${excerpt(rootOf(rest))}`);
  }
  for (const [path, value] of integers) {
    const { rest } = splitRank(path);
    if (stateOfName(rest, STATE_DEPTH) === null && isStep(rest)) content.addStep(value, file, `${file}: ${excerpt(path)}`);
  }
}

function rootOf(path: string): string {
  return path.split('/', 1)[0] ?? '';
}

function isStep(path: string): boolean {
  return needOfKey(path.slice(path.lastIndexOf('/') + 1)) === 'step';
}

function splitRank(path: string): { readonly rank: number | null; readonly rest: string } {
  const match = /^(\d{1,9})\/(.*)$/s.exec(path);
  return match === null ? { rank: null, rest: path } : { rank: Number(match[1]), rest: match[2] ?? '' };
}

/** The optimizer's step counters, which are tensors; ranks of one save agree on each of them. */
export class RankCounters {
  readonly #values = new Map<string, Map<number, string>>();

  note(source: ByteSource, part: StoredPart): void {
    const { rest } = splitRank(part.path);
    if (part.serializer !== 'buffer_protocol' || part.dtype === null || volume(part.shape) !== 1) return;
    if (!isStep(rest) || stateOfName(rest, STATE_DEPTH) !== 'optimizer') return;
    const [begin, end] = part.range ?? [0, source.size];
    const value = end - begin > 16 ? null : torchScalar(part.dtype, source.read(begin, end - begin));
    if (value === null) return;
    const values = this.#values.get(rest) ?? new Map<number, string>();
    this.#values.set(rest, values);
    if (!values.has(value)) values.set(value, source.file);
  }

  report(findings: Findings): void {
    for (const [path, values] of this.#values) {
      if (values.size < 2) continue;
      const told = [...values].slice(0, 4).map(([value, file]) => `${value} in ${excerpt(file)}`);
      const [expected, ...others] = values.keys();
      const where = { file: [...values.values()][1] ?? null, expected: String(expected), found: others.slice(0, 4).join(', ') };
      findings.add('TORCHSNAPSHOT_COUNTERS_DIFFER', where, `ranks count different steps in ${excerpt(path)}: ${told.join(', ')}`);
    }
  }
}
