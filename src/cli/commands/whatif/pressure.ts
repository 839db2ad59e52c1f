import { EXIT, type ExitCode } from '../../../core/exit-codes.ts';
import { defineCommand } from '../../frame/command.ts';
import { someText } from '../../frame/option-values.ts';
import { WORLD_OPTIONS } from './world-options.ts';

/** The command `holdfast whatif pressure`. */
export const pressure = defineCommand({
  description:
    'Computes the order in which the kubelet of a node would evict its pods, what each eviction stops, and where the pod comes back. Usage comes from metrics.k8s.io, from a file with a kubelet’s summary, or with --node-proxy from the kubelet itself. Changes nothing. Says CANNOT_TELL where the usage is not known.',
  operand: { name: 'NODE', description: 'the node', count: 'one', complete: { words: [] } },
  options: {
    resource: { kind: 'choice', choices: ['memory', 'disk'], default: 'memory', description: 'What the node runs short of' },
    stats: {
      kind: 'value',
      value: 'FILE',
      parse: someText('the file'),
      description: 'The answer of the kubelet’s /stats/summary, or a list of metrics.k8s.io, as JSON',
    },
    'node-proxy': { kind: 'flag', description: 'Ask the kubelet through the API server; needs get on nodes/proxy, which allows much more' },
    ...WORLD_OPTIONS,
  },
  examples: [
    { line: 'whatif pressure gpu-3', description: 'Short of memory, by metrics.k8s.io' },
    { line: 'whatif pressure gpu-3 --resource=disk --node-proxy', description: 'Short of disk, by the kubelet’s own numbers' },
    { line: 'whatif pressure gpu-3 -s cluster.json --stats=summary.json', description: 'From two files' },
  ],

  async run({ values, operands, output, clock, signal }): Promise<ExitCode> {
    const { readWorld } = await import('./read-world.ts');
    const { nodesNamed } = await import('./nodes-named.ts');
    const { readStats } = await import('./read-stats.ts');
    const { answerPressure } = await import('../../../whatif/nodes/pressure.ts');
    const { showPressure } = await import('./show-pressure.ts');
    const read = await readWorld({ ...values, clock, signal });
    const [node = ''] = nodesNamed(read, operands);
    const { resource } = values;
    const stats = await readStats({
      file: values.stats,
      isProxyAllowed: values['node-proxy'],
      node,
      resource,
      connection: read.connection,
    });
    const ranked = 'missing' in stats ? [] : answerPressure(read.world, node, resource, stats);
    showPressure({ node, resource, stats, ranked, read }, output);
    if ('missing' in stats) return EXIT.no;
    if (read.problems.length > 0) return EXIT.partly;
    return ranked.some(({ gang }) => gang !== null && !gang.loss.isService) ? EXIT.no : EXIT.ok;
  },
});
