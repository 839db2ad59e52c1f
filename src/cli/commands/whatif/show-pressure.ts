import { formatBytes } from '../../../core/bytes.ts';
import { formatDuration } from '../../../core/duration.ts';
import { excerpt, printable } from '../../../core/printable.ts';
import type { PressedAnswer, Short } from '../../../whatif/nodes/pressure.ts';
import type { NodeStats } from '../../../whatif/nodes/stats.ts';
import { problemLine } from '../../cluster/read-state.ts';
import type { Output } from '../../output/output.ts';
import { renderTable, wrap } from '../../output/table.ts';
import { fitWidth } from '../../output/width.ts';
import { gangData } from './gang-data.ts';
import type { ReadWorld } from './read-world.ts';
import { renderGangs } from './render-gangs.ts';
import { renderNotes } from './render-notes.ts';

/** A question about a node under pressure, and its answer. */
export interface ShownPressure {
  readonly node: string;
  readonly resource: Short;
  readonly stats: NodeStats | { readonly missing: readonly string[] };
  readonly ranked: readonly PressedAnswer[];
  readonly read: ReadWorld;
}

const MOST_PODS = 24;
/** The gangs of so many pods are told; the kubelet evicts one pod, and measures again. */
const MOST_GANGS = 3;

/** Prints the order, and names what could not be read. */
export function showPressure(shown: ShownPressure, output: Output): void {
  if (output.json) return output.printJson(pressureData(shown));
  const { ranked, read } = shown;
  if (output.quiet) output.print(...ranked.filter(({ isSpared }) => !isSpared).map(({ pod }) => pod.key));
  else output.print(...renderPressure(shown, output));
  for (const problem of read.problems) output.note(`left out: ${problemLine(problem)}`);
}

/** The output of `whatif pressure --json`; documented in docs/reference/whatif-json.md. */
function pressureData({ node, resource, stats, ranked, read }: ShownPressure) {
  const missing = 'missing' in stats ? stats.missing : [];
  return {
    schema: 'holdfast.whatif/1',
    question: 'pressure',
    from: read.from,
    version: read.world.version,
    at: new Date(read.world.nowMs).toISOString(),
    about: [node],
    resource,
    canTell: missing.length === 0,
    missing,
    order: ranked.map(({ pod, exceeds, above, rank, isSpared, graceMs, usage, gang }) => ({
      pod: pod.key,
      priority: pod.priority,
      rank,
      isMeasured: usage !== null,
      exceeds,
      above,
      isSpared,
      graceMs,
      gang: gang === null ? null : gangData(gang),
    })),
    notes: read.world.notes,
    problems: read.problems,
  };
}

/** The order on one screen. */
function renderPressure(
  { node, resource, stats, ranked, read }: ShownPressure,
  look: Pick<Output, 'style' | 'columns'>,
): readonly string[] {
  const { style, columns } = look;
  if ('missing' in stats) {
    return [
      style.bold(`node ${printable(node)}, short of ${resource}`),
      style.yellow('CANNOT_TELL'),
      ...stats.missing.flatMap((text) => wrap(`missing: ${printable(text)}`, columns - 2).map((line) => `  ${line}`)),
    ];
  }
  const rows = ranked
    .slice(0, MOST_PODS)
    .map(({ pod, exceeds, above, rank, isSpared, graceMs }) => [
      isSpared ? 'never' : String(rank + 1),
      excerpt(pod.key, 44),
      String(pod.priority),
      exceeds === null ? 'not measured' : exceeds ? 'yes' : 'no',
      above === null ? '' : `${above < 0 ? '-' : '+'}${formatBytes(Math.abs(above))}`,
      isSpared ? '' : formatDuration(graceMs),
    ]);
  const first = ranked.filter(({ isSpared }) => !isSpared).slice(0, MOST_GANGS);
  return [
    style.bold(`node ${printable(node)}, short of ${resource}: the kubelet evicts one pod, then measures again`),
    style.dim(fitWidth(`${printable(read.from)}, usage from ${stats.from}`, columns)),
    '',
    ...renderTable(
      [
        { title: '' },
        { title: 'POD' },
        { title: 'PRIORITY', align: 'right' },
        { title: 'ABOVE REQUEST' },
        { title: 'BY', align: 'right' },
        { title: 'GRACE', align: 'right' },
      ],
      rows,
    ).map((line, index) => (index === 0 ? style.bold : String)(fitWidth(`  ${line}`, columns))),
    ...(ranked.length > rows.length ? [style.dim(`  and ${ranked.length - rows.length} more; --json has all`)] : []),
    '',
    ...renderGangs(
      first.flatMap(({ gang }) => gang ?? []),
      look,
    ),
    ...(read.world.notes.length === 0 ? [] : ['', ...renderNotes(read.world.notes, look)]),
  ];
}
