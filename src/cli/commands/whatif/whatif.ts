import { EXIT } from '../../../core/exit-codes.ts';
import { defineCommand } from '../../frame/command.ts';
import { WHATIF_VERBS } from './verbs.ts';

/** `holdfast whatif`: its commands do the work. */
export const whatif = defineCommand({
  description:
    'Answers before it happens: which pods a change would evict, which training that stops, and what is lost. It computes what kube-scheduler and the kubelet would do, from a live cluster or a snapshot, and changes nothing.',
  operand: {
    name: 'QUESTION',
    description: 'what would happen',
    count: 'any',
    complete: { words: WHATIF_VERBS.map(({ name }) => name.split(' ')[1] ?? '') },
  },
  options: {},
  examples: [
    { line: 'whatif apply -f inference.yaml', description: 'Whom would it evict, and what costs less?' },
    { line: 'whatif drain gpu-3', description: 'What would a drain stop?' },
    { line: 'whatif audit', description: 'Who can evict whom today?' },
    { line: 'whatif snapshot > cluster.json', description: 'Keep the cluster as a file, and ask about that' },
  ],
  // The frame answers for the commands below; this one alone does nothing.
  run: async () => EXIT.usage,
});
