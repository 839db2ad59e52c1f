import type { Leaving } from '../../../whatif/nodes/pod-time.ts';
import { EXIT, type ExitCode } from '../../../core/exit-codes.ts';
import { type Command, defineCommand } from '../../frame/command.ts';
import { WORLD_OPTIONS } from './world-options.ts';

interface Words {
  readonly how: Leaving;
  readonly description: string;
  readonly example: string;
}

/** The command `holdfast whatif drain`. */
export const drain = leaving({
  how: 'drain',
  description:
    'Computes what a drain of these nodes would evict, which budgets would hold it up, which training it stops, and where the pods come back. Changes nothing.',
  example: 'What would a drain of this node stop?',
});

/** The command `holdfast whatif reclaim`. */
export const reclaim = leaving({
  how: 'reclaim',
  description:
    'Computes what is lost when the cloud takes these Spot nodes back: how long each pod has, which training stops, and where the pods come back. Changes nothing.',
  example: 'What is lost when the cloud takes this node back?',
});

/** The command `holdfast whatif lose`. */
export const lose = leaving({
  how: 'lose',
  description:
    'Computes what is lost when these nodes go silent: nothing gets a notice, and a controller creates a pod again only after the node’s silence and the pod’s toleration. Changes nothing.',
  example: 'What is lost when this node goes silent?',
});

function leaving({ how, description, example }: Words): Command<typeof WORLD_OPTIONS> {
  return defineCommand({
    description,
    operand: { name: 'NODE', description: 'the nodes', count: 'many', complete: { words: [] } },
    options: WORLD_OPTIONS,
    examples: [
      { line: `whatif ${how} gpu-3`, description: example },
      { line: `whatif ${how} gpu-3 gpu-4 -s cluster.json`, description: 'Two nodes of a snapshot' },
    ],

    async run({ values, operands, output, clock, signal }): Promise<ExitCode> {
      const { readWorld } = await import('./read-world.ts');
      const { nodesNamed } = await import('./nodes-named.ts');
      const { answerLeave } = await import('../../../whatif/nodes/leave.ts');
      const { showLeave } = await import('./show-leave.ts');
      const read = await readWorld({ ...values, clock, signal });
      const answer = answerLeave(read.world, nodesNamed(read, operands), how);
      showLeave({ how, nodes: operands, answer, read }, output);
      if (read.problems.length > 0) return EXIT.partly;
      return answer.gangs.some(({ loss }) => !loss.isService) || answer.staying.some(({ because }) => because.includes('budget'))
        ? EXIT.no
        : EXIT.ok;
    },
  });
}
