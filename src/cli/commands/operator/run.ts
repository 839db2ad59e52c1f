import { parseDuration } from '../../../core/duration.ts';
import { EXIT, type ExitCode } from '../../../core/exit-codes.ts';
import type { Cloud } from '../../../operator/kinds/clouds.ts';
import { CLUSTER_OPTIONS } from '../../cluster/cluster-options.ts';
import { defineCommand } from '../../frame/command.ts';
import { parseListen } from '../../frame/listen-address.ts';
import { someText, wholeNumber } from '../../frame/option-values.ts';
import { parseNotify } from './notify-address.ts';

const { context, kubeconfig } = CLUSTER_OPTIONS;

/** The command `holdfast operator run`. */
export const run = defineCommand({
  description:
    'Runs the PyTorchJobs and TFJobs of a cluster until Ctrl-C or SIGTERM. It keeps nothing that it cannot read again, so it may end at any time: pods train on, and the next operator continues. Only one operator may run the same jobs; with --leader-elect several may wait for their turn.',
  operand: null,
  options: {
    context,
    kubeconfig,
    namespace: {
      kind: 'value',
      value: 'NAMESPACE',
      short: 'n',
      parse: someText('the namespace'),
      description: 'The namespace of the Lease of --leader-elect (default: the one of the context)',
    },
    'watch-namespace': {
      kind: 'value',
      value: 'NAMESPACE',
      parse: someText('the namespace'),
      description: 'Run only the jobs of this namespace (default: of all namespaces)',
    },
    'leader-elect': { kind: 'flag', description: 'Lead only while this process holds the Lease, and stand by otherwise' },
    listen: {
      kind: 'value',
      value: 'ADDRESS',
      parse: parseListen,
      description: 'Host and port of /healthz, /readyz and /metrics, such as 0.0.0.0:9480',
      default: '127.0.0.1:9480',
    },
    'keep-runs': {
      kind: 'value',
      value: 'DURATION',
      parse: parseDuration,
      description: 'How long a TrainingRun outlives its job',
      default: '7d',
    },
    'fault-conditions': {
      kind: 'value',
      value: 'TYPES',
      parse: someText('the list of conditions'),
      description: 'Conditions of nodes, separated by commas, that end an attempt: those of node-problem-detector or a GPU plugin',
    },
    notify: {
      kind: 'value',
      value: 'URL',
      parse: parseNotify,
      description:
        'Post what ends attempts and runs to this address, as JSON for Slack and for receivers of Alertmanager. Without it: HOLDFAST_NOTIFY',
    },
    cloud: {
      kind: 'choice',
      choices: ['gke', 'eks', 'karpenter', 'aks'] satisfies readonly Cloud[],
      description: 'The cloud whose Spot machines the annotation holdfast.dev/placement asks for (default: the cloud of the nodes)',
    },
    image: {
      kind: 'value',
      value: 'IMAGE',
      parse: someText('the image'),
      description: 'The image that holds this operator. Supervised pods copy holdfast-run out of it',
    },
    supervise: {
      kind: 'choice',
      choices: ['annotated', 'all'],
      default: 'annotated',
      description: 'Which jobs train under holdfast run: those with the annotation holdfast.dev/supervise, or all without it set to false',
    },
    'make-room-deadline': {
      kind: 'value',
      value: 'DURATION',
      parse: parseDuration,
      description: 'How long a gang may take to save before it leaves for a pod that asks with holdfast.dev/make-room',
      default: '60s',
    },
    qps: {
      kind: 'value',
      value: 'NUMBER',
      parse: wholeNumber('a number of requests', 1),
      description: 'Requests per second to the API server',
      default: '100',
    },
    burst: {
      kind: 'value',
      value: 'NUMBER',
      parse: wholeNumber('a number of requests', 1),
      description: 'Requests at once after a quiet time',
      default: '200',
    },
    'gang-scheduler-name': {
      kind: 'value',
      value: 'NAME',
      parse: someText('the scheduler'),
      description: 'Make PodGroups for volcano, or for a scheduler of this name with scheduler-plugins. Without it, make none',
    },
    'pytorch-init-container-image': {
      kind: 'value',
      value: 'IMAGE',
      parse: someText('the image'),
      description: 'The image of the init container of workers, which waits for the name of the master',
      default: 'alpine:3.10',
    },
    'pytorch-init-container-max-tries': {
      kind: 'value',
      value: 'COUNT',
      parse: wholeNumber('a number of tries', 1),
      description: 'How often that container looks, every two seconds',
      default: '100',
    },
  },
  examples: [
    { line: 'operator run --context=lab', description: 'Run the jobs of a cluster from here' },
    { line: 'operator run --watch-namespace=trial', description: 'Run the jobs of one namespace, beside another operator' },
    { line: 'operator run --leader-elect --listen=0.0.0.0:9480', description: 'As in the cluster, where two replicas run' },
  ],

  async run({ values, output, clock, env, signal, takeSignals }): Promise<ExitCode> {
    const { runOperator } = await import('./run-operator.ts');
    try {
      await runOperator({ values, output, clock, env, signal });
    } catch (thrown) {
      if (thrown !== signal.reason) throw thrown;
    }
    // SIGTERM and Ctrl-C are the ordinary end of an operator: a roll-out ends every one like that.
    takeSignals();
    return EXIT.ok;
  },
});
