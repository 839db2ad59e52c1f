import { formatDuration } from '../../../core/duration.ts';
import { excerpt, printable } from '../../../core/printable.ts';
import type { LeaveAnswer } from '../../../whatif/nodes/leave.ts';
import type { Leaving } from '../../../whatif/nodes/pod-time.ts';
import { problemLine } from '../../cluster/read-state.ts';
import type { Output } from '../../output/output.ts';
import { renderTable, wrap } from '../../output/table.ts';
import { fitWidth } from '../../output/width.ts';
import { costData, gangData } from './gang-data.ts';
import type { ReadWorld } from './read-world.ts';
import { costText } from './render-cost.ts';
import { renderGangs } from './render-gangs.ts';
import { renderNodes } from './render-nodes.ts';
import { renderNotes } from './render-notes.ts';

/** A question about nodes, and its answer. */
export interface ShownLeave {
  readonly how: Leaving;
  readonly nodes: readonly string[];
  readonly answer: LeaveAnswer;
  readonly read: ReadWorld;
}

const MOST_PODS = 24;

/** Prints the answer, and names what could not be read. */
export function showLeave(shown: ShownLeave, output: Output): void {
  const { answer, read } = shown;
  if (output.json) return output.printJson(leaveData(shown));
  if (output.quiet) output.print(...answer.leaving.map(({ pod }) => pod.key));
  else output.print(...renderLeave(shown, output));
  for (const problem of read.problems) output.note(`left out: ${problemLine(problem)}`);
}

/**
 * The output of `whatif drain|reclaim|lose --json`; documented in docs/reference/whatif-json.md.
 */
function leaveData({ how, nodes, answer, read }: ShownLeave) {
  const { leaving, staying, gangs, cost, drawing, notes } = answer;
  return {
    schema: 'holdfast.whatif/1',
    question: how,
    from: read.from,
    version: read.world.version,
    at: new Date(read.world.nowMs).toISOString(),
    about: nodes,
    leaving: leaving.map(({ pod, ...left }) => ({ pod: pod.key, priority: pod.priority, ...left })),
    staying,
    gangs: gangs.map(gangData),
    lost: costData(cost),
    nodes: drawing,
    notes,
    problems: read.problems,
  };
}

/** One answer on one screen. */
function renderLeave({ how, nodes, answer, read }: ShownLeave, look: Pick<Output, 'style' | 'columns'>): readonly string[] {
  const { style, columns } = look;
  const { leaving, staying, gangs, cost, drawing, notes } = answer;
  const rows = leaving
    .slice(0, MOST_PODS)
    .map(({ pod, node, graceMs, isTold, replacedAfterMs }) => [
      excerpt(pod.key, 44),
      excerpt(node, 24),
      String(pod.priority),
      isTold ? formatDuration(graceMs) : 'no notice',
      how === 'lose' ? `after ${formatDuration(replacedAfterMs)}` : '',
    ]);
  const verb = { drain: 'A drain of', reclaim: 'A reclaim of', lose: 'The loss of' }[how];
  const training = gangs.filter(({ loss }) => !loss.isService).length;
  const stops =
    training === 0
      ? 'no training stops'
      : `${training} ${training === 1 ? 'training workload stops' : 'training workloads stop'}, lost: ${costText(cost)}`;
  const head = `${verb} ${nodes.map(printable).join(', ')}: ${leaving.length} ${leaving.length === 1 ? 'pod leaves' : 'pods leave'}, ${stops}`;
  const parts: readonly (readonly string[])[] = [
    [
      ...wrap(head, columns).map(training === 0 ? style.green : style.red),
      style.dim(fitWidth(`${printable(read.from)}, Kubernetes ${printable(read.world.version)}`, columns)),
    ],
    renderNodes(drawing, look),
    rows.length === 0
      ? []
      : [
          ...renderTable(
            [
              { title: 'LEAVES' },
              { title: 'NODE' },
              { title: 'PRIORITY', align: 'right' },
              { title: 'GRACE', align: 'right' },
              { title: how === 'lose' ? 'REPLACED' : '' },
            ],
            rows,
          ).map((line, index) => (index === 0 ? style.bold : String)(fitWidth(`  ${line}`, columns))),
          ...(leaving.length > rows.length ? [style.dim(`  and ${leaving.length - rows.length} more; --json has all`)] : []),
        ],
    staying
      .slice(0, MOST_PODS)
      .flatMap(({ pod, because }) => wrap(`${printable(pod)} stays: ${printable(because)}`, columns - 2).map((line) => `  ${line}`)),
    renderGangs(gangs, look),
    renderNotes(notes, look),
  ];
  return parts.filter((part) => part.length > 0).flatMap((part, index) => (index === 0 ? part : ['', ...part]));
}
