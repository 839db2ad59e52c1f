import { formatDuration } from '../../../core/duration.ts';
import { excerpt, printable } from '../../../core/printable.ts';
import type { Alternative } from '../../../whatif/apply/alternatives/alternative.ts';
import type { ApplyAnswer, PodAnswer } from '../../../whatif/apply/answer.ts';
import { someOf } from '../../../whatif/world/note.ts';
import type { Output } from '../../output/output.ts';
import { renderTable, wrap } from '../../output/table.ts';
import { fitWidth } from '../../output/width.ts';
import type { AppliedManifests } from './apply-manifests.ts';
import { costText } from './render-cost.ts';
import { renderGangs } from './render-gangs.ts';
import { renderNodes } from './render-nodes.ts';
import { renderNotes } from './render-notes.ts';

type Look = Pick<Output, 'style' | 'columns'>;

const MOST_PODS = 12;
const MOST_VICTIMS = 16;
const MOST_SETS = 8;

/** One answer on one screen: the sum first, then the nodes, the losses, and what costs less. */
export function renderApply({ answer, from, version }: AppliedManifests, look: Look): readonly string[] {
  const { style, columns } = look;
  const parts: readonly (readonly string[])[] = [
    [...headline(answer, look), style.dim(fitWidth(`${printable(from)}, Kubernetes ${printable(version)}`, columns))],
    renderNodes(answer.drawing, look),
    renderPods(answer.pods, look),
    renderEvicted(answer, look),
    renderSets(answer, look),
    renderShapes(answer, look),
    renderAlternatives(answer.alternatives, look),
    renderNotes(answer.notes, look),
  ];
  return parts.filter((part) => part.length > 0).flatMap((part, index) => (index === 0 ? part : ['', ...part]));
}

function headline({ pods, evicted, gangs, cost, violations }: ApplyAnswer, { style, columns }: Look): readonly string[] {
  const nowhere = pods.filter(({ node }) => node === null).length;
  const placed = pods.length - nowhere;
  const fits = `${placed} of ${pods.length} ${pods.length === 1 ? 'pod gets' : 'pods get'} a node`;
  if (evicted.length === 0) return [(nowhere === 0 ? style.green : style.red)(`${fits}; no pod is evicted`)];
  const budgets = violations === 0 ? '' : `; ${violations} ${violations === 1 ? 'eviction breaks a budget' : 'evictions break budgets'}`;
  const text = `${fits}; ${count(evicted.length, 'pod is', 'pods are')} evicted, ${count(gangs.length, 'workload stops', 'workloads stop')}, lost: ${costText(cost)}${budgets}`;
  return wrap(text, columns).map(style.red);
}

function renderPods(pods: readonly PodAnswer[], { style, columns }: Look): readonly string[] {
  const rows = pods.slice(0, MOST_PODS).map(({ pod, node, evicts, tied }) => {
    const ties = tied.length > 1 ? `or any of ${tied.length - 1} other nodes that score the same` : '';
    return [excerpt(pod.name, 40), node === null ? 'nowhere' : excerpt(node, 32), evicts ? 'after evictions' : ties];
  });
  const messages = [...new Set(pods.flatMap(({ node, message }) => (node === null && message !== null ? [message] : [])))];
  const left = pods.length - rows.length;
  return [
    ...renderTable([{ title: 'POD' }, { title: 'GOES TO' }, { title: '' }], rows).map((line, index) =>
      (index === 0 ? style.bold : String)(fitWidth(`  ${line}`, columns)),
    ),
    ...(left > 0 ? [style.dim(`  and ${left} more; --json has all`)] : []),
    ...messages.slice(0, 3).flatMap((message) => wrap(printable(message), columns - 4).map((line) => style.yellow(`    ${line}`))),
  ];
}

function renderEvicted(answer: ApplyAnswer, look: Look): readonly string[] {
  const { evicted, gangs, accelerators } = answer;
  const { style, columns } = look;
  if (evicted.length === 0) return [];
  const rows = evicted
    .slice(0, MOST_VICTIMS)
    .map(({ pod, node, graceSeconds, by }, index) => [
      String(index + 1),
      excerpt(pod.key, 44),
      excerpt(node, 24),
      String(pod.priority),
      formatDuration(1000 * graceSeconds),
      excerpt(by, 30),
    ]);
  const left = evicted.length - rows.length;
  const { needed, freed, idle } = accelerators;
  const idleText = idle === 0 ? '' : `, and ${idle} more stand idle with their gangs`;
  return [
    ...renderTable(
      [
        { title: '' },
        { title: 'EVICTED' },
        { title: 'NODE' },
        { title: 'PRIORITY', align: 'right' },
        { title: 'GRACE', align: 'right' },
        { title: 'FOR' },
      ],
      rows,
    ).map((line, index) => (index === 0 ? style.bold : String)(fitWidth(`  ${line}`, columns))),
    ...(left > 0 ? [style.dim(`  and ${left} more; --json has all`)] : []),
    ...(needed + freed === 0
      ? []
      : wrap(`The new pods need ${needed} GPUs; the evictions free ${freed}${idleText}.`, columns - 2).map((line) => `  ${line}`)),
    '',
    ...renderGangs(gangs, look),
  ];
}

function renderSets({ possible, isSampled }: ApplyAnswer, { style, columns }: Look): readonly string[] {
  if (possible.length === 0) return [];
  const why = isSampled
    ? 'There are more nodes than the scheduler tries, and it starts at a random one: any of these may happen.'
    : 'These are equally good for the scheduler, and it takes any of them; the answer above is for the first.';
  const rows = possible
    .slice(0, MOST_SETS)
    .map(({ pod, node, victims, cost }) => [excerpt(pod, 30), excerpt(node, 24), someOf(victims, 2), costText(cost)]);
  const left = possible.length - rows.length;
  return [
    ...wrap(why, columns - 2).map((line) => style.yellow(`  ${line}`)),
    ...renderTable([{ title: 'FOR' }, { title: 'NODE' }, { title: 'EVICTED' }, { title: 'LOST' }], rows).map((line) =>
      fitWidth(`  ${line}`, columns),
    ),
    ...(left > 0 ? [style.dim(`  and ${left} more sets; --json has all`)] : []),
  ];
}

function renderShapes({ shapes }: ApplyAnswer, { columns }: Look): readonly string[] {
  return shapes
    .filter(({ nodesAfter, waiting }) => nodesAfter === 0 || waiting > 0)
    .flatMap(({ request, pods, waiting, nodesBefore, nodesAfter }) => {
      const who = `${count(pods, 'pod asks', 'pods ask')} for it${waiting === 0 ? '' : `, ${waiting} of them waiting`}`;
      const where =
        nodesAfter === 0 ? 'no node has room for one more afterwards' : `${nodesAfter} of ${nodesBefore} nodes have room afterwards`;
      return wrap(`${request}: ${where} (${who})`, columns - 4).map((line, index) => `  ${index === 0 ? '' : '  '}${line}`);
    });
}

function renderAlternatives(alternatives: readonly Alternative[], { style, columns }: Look): readonly string[] {
  if (alternatives.length === 0) return [];
  return [
    style.bold('  WHAT WOULD COST LESS'),
    ...alternatives.flatMap(({ title, change, cost, stops, isAtOnce }, index) => {
      const lost =
        cost.worst === 0 ? (isAtOnce && stops.length === 0 ? 'loses nothing' : 'loses nothing; the pods wait') : `loses ${costText(cost)}`;
      const [first = '', ...more] = wrap(`${index + 1}. ${printable(title)}`, columns - 4);
      return [
        `  ${first}`,
        ...more.map((line) => `     ${line}`),
        `     ${style.green(lost)}${stops.length === 0 ? '' : style.dim(`, stops ${printable(someOf(stops, 2))}`)}`,
        ...change.map((line) => `     ${printable(line)}`),
      ];
    }),
  ];
}

function count(number: number, one: string, many: string): string {
  return `${number} ${number === 1 ? one : many}`;
}
