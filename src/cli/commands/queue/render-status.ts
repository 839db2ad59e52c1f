import { formatDuration } from '../../../core/duration.ts';
import { printable } from '../../../core/printable.ts';
import type { Output } from '../../output/output.ts';
import { renderTable } from '../../output/table.ts';
import type { StatusAnswer } from './answers.ts';

const BAR = 40;
const MOST_WORKERS = 12;

/** The view of one queue: a bar, the counts, what interruptions cost, and the workers. */
export function renderStatus(
  status: StatusAnswer,
  { now, output }: { readonly now: number; readonly output: Pick<Output, 'style'> },
): string[] {
  const { queue, counts, total, open, isPaused, perSecond, workers } = status;
  const { style } = output;
  const share = total === 0 ? 0 : counts.done / total;
  const filled = open === 0 && counts.done === total ? BAR : Math.min(BAR - 1, Math.floor(BAR * share));
  const bar = `${style.green('━'.repeat(filled))}${style.dim('─'.repeat(BAR - filled))}`;
  const rate = perSecond >= 10 ? perSecond.toFixed(0) : perSecond.toFixed(perSecond >= 1 ? 1 : 2);
  const left = open > 0 && perSecond > 0 ? `, about ${formatDuration((open / perSecond) * 1000)} left` : '';
  const states = (['ready', 'delayed', 'leased', 'failed', 'aside', 'cancelled'] as const).filter((state) => counts[state] > 0);
  return [
    `${style.bold(queue)}  ${bar}  ${counts.done} of ${total} (${Math.floor(100 * share)} %)${isPaused ? style.yellow('  paused') : ''}`,
    `  ${[...states.map((state) => `${counts[state]} ${state}`), `${rate} items/s${left}`].join(', ')}`,
    `  ${costLine(status)}`,
    ...workers.slice(0, MOST_WORKERS).map(({ node, process, leases, since }) => {
      return `  ${style.dim('·')} ${printable(process)} on ${printable(node)}: ${leases} leased, the oldest for ${formatDuration(Math.max(0, now - since))}`;
    }),
    ...(workers.length > MOST_WORKERS ? [`  … and ${workers.length - MOST_WORKERS} more workers`] : []),
  ];
}

/** One line that says what the interruptions cost. */
function costLine({ givenBack, lost, lostMs, failures, refused }: StatusAnswer): string {
  const parts = [
    `interruptions: ${givenBack} leases given back, ${lost} lost with their workers`,
    `at most ${formatDuration(lostMs)} of work done again`,
    ...(failures > 0 ? [`${failures} failed tries`] : []),
    ...(refused > 0 ? [`${refused} differing results refused (queue show QUEUE KEY)`] : []),
  ];
  return parts.join(', ');
}

/** A table of all queues. */
export function renderQueues(statuses: readonly StatusAnswer[]): string[] {
  if (statuses.length === 0) return [];
  const right = ['TOTAL', 'DONE', 'READY', 'LEASED', 'TROUBLED', 'PER SECOND'].map((title) => ({ title, align: 'right' as const }));
  const rows = statuses.map(({ queue, total, counts, perSecond, isPaused }) => [
    `${queue}${isPaused ? ' (paused)' : ''}`,
    ...[total, counts.done, counts.ready + counts.delayed, counts.leased, counts.failed + counts.aside].map(String),
    perSecond.toFixed(1),
  ]);
  return renderTable([{ title: 'QUEUE' }, ...right], rows);
}
