import { dirname, join } from 'node:path';
import { isContainerFolder } from '../../verify/is-container-folder.ts';
import type { CheckpointReport } from '../../verify/report.ts';
import type { Writer } from '../../bytes/source/writers.ts';
import { canResume } from '../../verify/verdict.ts';
import { verifyPaths } from '../../verify/verify.ts';
import { HoldfastError } from '../../core/errors.ts';
import type { Entry } from './look.ts';

/** The result of a quick look into an entry. */
export type Judged =
  | { readonly kind: 'whole'; readonly report: CheckpointReport }
  /** A process has it open for writing. */
  | { readonly kind: 'busy' }
  /** A checkpoint, but a run cannot resume from it as it is. */
  | { readonly kind: 'unfit'; readonly report: CheckpointReport }
  /** The disk refuses the read, which says nothing about the checkpoint. */
  | { readonly kind: 'unread'; readonly reason: string }
  /**
   * Not a checkpoint itself. `deeper` names the folder inside it that holds checkpoints; null:
   * there are none.
   */
  | { readonly kind: 'none'; readonly deeper: string | null };

interface JudgeOptions {
  readonly writers: () => ReadonlyMap<string, Writer>;
  readonly signal: AbortSignal;
  /** How much of it to read; the default reads its structure only. */
  readonly level?: 'quick' | 'deep';
}

/**
 * Inspects the structure of an entry: names, sizes, headers, indexes. An entry that passes is read
 * in full before it is sealed.
 */
export async function judge(folder: string, entry: Entry, options: JudgeOptions): Promise<Judged> {
  const checkpoints = await lookInto(given(folder, entry), options);
  if (typeof checkpoints === 'string') return { kind: 'unread', reason: checkpoints };
  const [report] = checkpoints;
  if (report === undefined) return { kind: 'none', deeper: null };
  const isDeeper = checkpoints.length > 1 || (entry.kind === 'directory' && isContainerFolder(entry.path, report));
  if (isDeeper) return { kind: 'none', deeper: dirname(report.path) };
  if (report.verdict === 'IN_PROGRESS') return { kind: 'busy' };
  if (canResume(report.verdict, false)) return { kind: 'whole', report };
  const refused = report.evidence.find(({ code }) => code === 'FILE_NOT_READABLE');
  return refused === undefined
    ? { kind: 'unfit', report }
    : { kind: 'unread', reason: `${entry.path} cannot be inspected: ${refused.message}` };
}

/** The path to pass to `verify`; for files that belong together, any one of them. */
function given(folder: string, { kind, path, stamps }: Entry): string {
  const [first = ''] = stamps.keys();
  return kind === 'directory' ? path : join(folder, first);
}

/** The checkpoints at the path, or the reason why it cannot be read. */
async function lookInto(path: string, { level = 'quick', writers, signal }: JudgeOptions): Promise<readonly CheckpointReport[] | string> {
  try {
    const report = await verifyPaths([path], { level, writers, signal });
    return report.paths[0]?.checkpoints ?? [];
  } catch (thrown) {
    if (!(thrown instanceof HoldfastError) || thrown.code === 'TERMINATED') throw thrown;
    // The entry was just deleted, or it cannot be a checkpoint.
    return thrown.code === 'PATH_NOT_READABLE' ? thrown.message : [];
  }
}
