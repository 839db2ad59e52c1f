import { counted } from '../../../core/counted.ts';
import { formatDuration } from '../../../core/duration.ts';
import { excerpt, printable } from '../../../core/printable.ts';
import type { HistoryEntry } from '../../../queue/backend.ts';

/** One line per end of a lease, oldest first. */
export function historyLines(history: readonly HistoryEntry[]): string[] {
  return history.map(({ token, end, leasedAt, endedAt, node, process, together, isDeath, detail }) => {
    const words = [
      `  #${token}`,
      new Date(endedAt).toISOString(),
      end,
      `after ${formatDuration(Math.max(0, endedAt - leasedAt))}`,
      `by ${printable(process)} on ${printable(node)}`,
      ...(together > 1 ? [`with ${counted(together - 1, 'other')}`] : []),
      ...(isDeath ? ['counts as a death'] : []),
      ...(detail === null ? [] : [`: ${excerpt(detail, 300)}`]),
    ];
    return words.join(' ');
  });
}
