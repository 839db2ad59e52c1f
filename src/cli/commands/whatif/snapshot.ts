import { EXIT, type ExitCode } from '../../../core/exit-codes.ts';
import { CLUSTER_OPTIONS } from '../../cluster/cluster-options.ts';
import { defineCommand } from '../../frame/command.ts';

const { context, kubeconfig } = CLUSTER_OPTIONS;

/** The command `holdfast whatif snapshot`. */
export const snapshot = defineCommand({
  description:
    'Prints the objects that the answers of whatif need, of all namespaces, as one JSON list. Leaves out environment, commands, secrets, probes and unknown annotations. Skips kinds that are not installed, names what it may not list, and only reads.',
  operand: null,
  options: { context, kubeconfig },
  examples: [
    { line: 'whatif snapshot > cluster.json', description: 'Keep the cluster of the current context' },
    { line: 'whatif apply -f inference.yaml --snapshot=cluster.json', description: 'Ask about the file' },
  ],

  async run({ values, output, clock, signal }): Promise<ExitCode> {
    const { openCluster } = await import('../../../kube/client/open-cluster.ts');
    const { snapshotCluster } = await import('./snapshot-cluster.ts');
    const { snapshotObject } = await import('../../../whatif/snapshot/cluster-snapshot.ts');
    const { printableJson } = await import('../../../core/printable.ts');
    const { connection, context: name } = await openCluster({ ...values, clock, signal });
    // One object a line: half a file still has whole objects, and a diff of two files can be read.
    output.print('{"apiVersion":"v1","kind":"List","items":[');
    const taken = await snapshotCluster({
      connection,
      context: name,
      nowMs: clock.now(),
      onObject: ({ fields }) => output.print(`${printableJson(JSON.stringify(fields))},`),
    });
    output.print(printableJson(JSON.stringify(snapshotObject(taken))), ']}');
    for (const { resource, reason } of taken.leftOut) output.note(`left out: ${resource}: ${reason}`);
    return taken.leftOut.length > 0 ? EXIT.partly : EXIT.ok;
  },
});
