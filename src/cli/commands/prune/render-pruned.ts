import { formatBytes } from '../../../core/bytes.ts';
import { printable } from '../../../core/printable.ts';
import type { Style } from '../../output/style.ts';
import type { PruneReport } from './prune-report.ts';

/** Renders what stayed and why, what went, and how much room that frees. */
export function renderPruned({ isDryRun, kept, removed, removedBytes }: PruneReport, style: Style): readonly string[] {
  const verb = isDryRun ? 'would delete' : 'deleted';
  const summary = `${verb} ${removed.length} of ${removed.length + kept.length}, ${formatBytes(removedBytes)}`;
  return [
    ...kept.map(({ path, because }) => `${'keep'.padEnd(verb.length)}  ${printable(path)}  ${style.dim(because.join(', '))}`),
    ...removed.map(({ path, bytes }) => `${verb}  ${printable(path)}  ${style.dim(formatBytes(bytes))}`),
    summary,
  ];
}
