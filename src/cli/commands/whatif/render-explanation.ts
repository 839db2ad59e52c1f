import { excerpt, printable } from '../../../core/printable.ts';
import type { Explanation } from '../../../whatif/apply/explain.ts';
import { someOf } from '../../../whatif/world/note.ts';
import type { Output } from '../../output/output.ts';
import { renderTable, wrap } from '../../output/table.ts';
import { fitWidth } from '../../output/width.ts';

const MOST_CANDIDATES = 20;

/** The scheduler’s steps for one pod: filters, scores, preemption. */
export function renderExplanation(told: Explanation, { style, columns }: Pick<Output, 'style' | 'columns'>): readonly string[] {
  const { pod, priority, requests, refusals, passed, tied, candidates, best, node, message } = told;
  const paragraph = (text: string): readonly string[] => wrap(printable(text), columns - 5).map((line) => `     ${line}`);
  const filters = renderTable(
    [{ title: 'NODES', align: 'right' }, { title: 'REASON' }, { title: 'EVICTION HELPS' }],
    refusals.map(({ nodes, reason, isResolvable }) => [String(nodes.length), excerpt(reason, 60), isResolvable ? 'perhaps' : 'no']),
  );
  const rows = candidates.slice(0, MOST_CANDIDATES).map(({ node: name, victims, violations }) => [
    `${best.includes(name) ? '▸ ' : '  '}${excerpt(name, 30)}`,
    String(violations),
    String(victims[0]?.priority ?? ''),
    String(victims.length),
    someOf(
      victims.map(({ key }) => key),
      2,
    ),
  ]);
  return [
    style.bold(printable(pod)),
    style.dim(fitWidth(`priority ${priority}; asks for ${requests.join(', ')}`, columns)),
    '',
    '  1. Filters: which nodes can take it as they are?',
    ...paragraph(passed === 0 ? 'None.' : `${passed} ${passed === 1 ? 'node' : 'nodes'}.`),
    ...(refusals.length === 0 ? [] : filters.map((line) => `     ${fitWidth(line, columns - 5)}`)),
    '',
    ...(passed > 0
      ? [
          '  2. Scores: which of them is best?',
          ...paragraph(tied.length === 1 ? `${tied[0]}.` : `${tied.length} nodes tie, and the scheduler takes any: ${someOf(tied)}.`),
        ]
      : [
          '  2. Preemption: where would evicting less important pods make room?',
          ...paragraph(
            candidates.length === 0
              ? 'Nowhere.'
              : 'Fewest broken budgets, then the least important victims, then the fewest, then the youngest:',
          ),
        ]),
    ...(rows.length === 0
      ? []
      : renderTable(
          [
            { title: '  NODE' },
            { title: 'BUDGETS', align: 'right' },
            { title: 'HIGHEST PRIORITY', align: 'right' },
            { title: 'VICTIMS', align: 'right' },
            { title: 'WHO' },
          ],
          rows,
        ).map((line) => `     ${fitWidth(line, columns - 5)}`)),
    ...(candidates.length > rows.length ? [style.dim(`     and ${candidates.length - rows.length} more nodes`)] : []),
    '',
    `  ${style.bold(node === null ? 'It goes nowhere.' : `It goes to ${printable(node)}.`)}`,
    ...(message === null ? [] : paragraph(message)),
  ];
}
