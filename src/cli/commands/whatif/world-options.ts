import type { OptionTable } from '../../frame/command.ts';
import { CLUSTER_OPTIONS } from '../../cluster/cluster-options.ts';
import { someText } from '../../frame/option-values.ts';

const { context, kubeconfig } = CLUSTER_OPTIONS;

/** The cluster that a question is about: a live one, or a file. */
export const WORLD_OPTIONS = {
  snapshot: {
    kind: 'value',
    value: 'FILE',
    short: 's',
    parse: someText('the snapshot'),
    description: 'Answer from this snapshot or dump (a file or a folder; - for standard input), and ask no cluster',
  },
  context,
  kubeconfig,
} as const satisfies OptionTable;
