import { dirname, join } from 'node:path';
import { liesDeeper } from '../../checkpoint/lies-deeper.ts';
import type { CheckpointReport } from '../../checkpoint/report.ts';
import type { Writer } from '../../checkpoint/source/writers.ts';
import { canResume } from '../../checkpoint/verdict.ts';
import { verifyPaths } from '../../checkpoint/verify.ts';
import { HoldfastError } from '../../core/errors.ts';
import type { Entry } from './look.ts';

/** What a quick look into an entry says. */
export type Judged =
  | { readonly kind: 'whole'; readonly report: CheckpointReport }
  /** Somebody has it open for writing. */
  | { readonly kind: 'busy' }
  /** A checkpoint, but none that a run could resume from as it is. */
  | { readonly kind: 'unfit'; readonly report: CheckpointReport }
  /** The disk does not let it be read, which says nothing about it. */
  | { readonly kind: 'unread'; readonly reason: string }
  /** No checkpoint itself. `deeper`: the folder in it where checkpoints lie; null: there are none. */
  | { readonly kind: 'none'; readonly deeper: string | null };

interface JudgeOptions {
  readonly writers: () => ReadonlyMap<string, Writer>;
  readonly signal: AbortSignal;
}

/** Structure only: names, sizes, headers, indexes. What passes is read in full before it is sealed. */
export async function judge(folder: string, entry: Entry, { writers, signal }: JudgeOptions): Promise<Judged> {
  const checkpoints = await quickLook(given(folder, entry), { writers, signal });
  if (typeof checkpoints === 'string') return { kind: 'unread', reason: checkpoints };
  const [report] = checkpoints;
  if (report === undefined) return { kind: 'none', deeper: null };
  const isDeeper = checkpoints.length > 1 || (entry.kind === 'directory' && liesDeeper(entry.path, report));
  if (isDeeper) return { kind: 'none', deeper: dirname(report.path) };
  if (report.verdict === 'IN_PROGRESS') return { kind: 'busy' };
  if (canResume(report.verdict, false)) return { kind: 'whole', report };
  const refused = report.evidence.find(({ code }) => code === 'FILE_NOT_READABLE');
  return refused === undefined
    ? { kind: 'unfit', report }
    : { kind: 'unread', reason: `${entry.path} cannot be looked into: ${refused.message}` };
}

/** What `verify` is given: of files that belong together any one. */
function given(folder: string, { kind, path, stamps }: Entry): string {
  const [first = ''] = stamps.keys();
  return kind === 'directory' ? path : join(folder, first);
}

/** The checkpoints there, or why nobody can tell. */
async function quickLook(path: string, options: JudgeOptions): Promise<readonly CheckpointReport[] | string> {
  try {
    const report = await verifyPaths([path], { level: 'quick', ...options });
    return report.paths[0]?.checkpoints ?? [];
  } catch (thrown) {
    if (!(thrown instanceof HoldfastError) || thrown.code === 'TERMINATED') throw thrown;
    // It has just gone, or is nothing that could be a checkpoint.
    return thrown.code === 'PATH_NOT_READABLE' ? thrown.message : [];
  }
}
