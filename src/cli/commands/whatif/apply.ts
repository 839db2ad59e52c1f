import { EXIT, type ExitCode } from '../../../core/exit-codes.ts';
import { defineCommand } from '../../frame/command.ts';
import { someText, wholeNumber } from '../../frame/option-values.ts';
import { WORLD_OPTIONS } from './world-options.ts';

/** The command `holdfast whatif apply`. */
export const apply = defineCommand({
  description:
    'Computes where kube-scheduler would put the pods of a manifest, which pods it would evict for them, and which training that stops. Then lists what would lose less, with the exact change. Changes nothing. Exits with 0 if all pods find room without an eviction, else with 1.',
  operand: null,
  options: {
    file: {
      kind: 'value',
      value: 'FILE',
      short: 'f',
      parse: someText('the file'),
      description: 'The manifests to apply: a file or a folder, JSON or YAML; - for standard input',
    },
    replicas: {
      kind: 'value',
      value: 'N',
      parse: wholeNumber('a number of replicas', 0),
      description: 'So many replicas, whatever the manifest says',
    },
    namespace: {
      kind: 'value',
      value: 'NAMESPACE',
      short: 'n',
      parse: someText('the namespace'),
      description: 'The namespace of objects that name none (default: the one of the context)',
    },
    explain: {
      kind: 'value',
      value: 'POD',
      parse: someText('the pod'),
      description: 'Walk through the scheduler’s steps for this pod of the manifest',
    },
    ...WORLD_OPTIONS,
  },
  examples: [
    { line: 'whatif apply -f inference.yaml', description: 'Whom would it evict, and what costs less?' },
    { line: 'whatif apply -f inference.yaml --replicas=8', description: 'With eight replicas' },
    { line: 'whatif apply -f inference.yaml -s cluster.json', description: 'In a snapshot of the cluster' },
    { line: 'whatif apply -f inference.yaml --explain=inference-0', description: 'Why does it go there?' },
  ],

  async run({ values, output, clock, signal }): Promise<ExitCode> {
    const { applyManifests } = await import('./apply-manifests.ts');
    const asked = await applyManifests({ ...values, clock, signal });
    const { showApply } = await import('./show-apply.ts');
    showApply(asked, output);
    const { answer, problems } = asked;
    if (answer.pods.length === 0) return EXIT.nothing;
    if (problems.length > 0) return EXIT.partly;
    if (answer.evicted.length > 0 || answer.pods.some(({ node }) => node === null)) return EXIT.no;
    return answer.notes.some(({ kind }) => kind === 'bad-input') ? EXIT.partly : EXIT.ok;
  },
});
