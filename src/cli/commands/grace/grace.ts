import { parseBytes } from '../../../core/bytes.ts';
import { parseDuration } from '../../../core/duration.ts';
import { HoldfastError } from '../../../core/errors.ts';
import { EXIT, type ExitCode } from '../../../core/exit-codes.ts';
import { type Parsed, parsed, refused } from '../../../core/parsed.ts';
import { excerpt } from '../../../core/printable.ts';
import type { CloudName } from '../../../domain/grace/clouds.ts';
import { CLUSTER_OPTIONS } from '../../cluster/cluster-options.ts';
import { defineCommand } from '../../frame/command.ts';
import { someText } from '../../frame/option-values.ts';

const NODES = [
  'gke-spot',
  'gke-preemptible',
  'gke-flex-start',
  'gce-spot',
  'ec2-spot',
  'ec2-spot-unhandled',
  'azure-spot',
] as const satisfies readonly CloudName[];

const time = (text: string): ReturnType<typeof parseDuration> => parseDuration(text);

/** The command `holdfast grace`. */
export const grace = defineCommand({
  description:
    'Computes the time that a training pod really has from SIGTERM to SIGKILL, for every cause that may end it: the shortest of a chain of limits, each with its reason. Checks whether a save fits; its duration comes from the ledger of a run, from --save, or from --bytes and --bandwidth. Reads a manifest, or a pod of a cluster, and changes nothing.',
  operand: {
    name: 'TARGET',
    description: 'pod/NAME, job/NAME, pytorchjob/NAME … of the cluster or of the files; with -f also more files',
    count: 'any',
    complete: 'paths',
  },
  options: {
    ...CLUSTER_OPTIONS,
    'all-namespaces': { kind: 'flag', short: 'A', description: 'Every pod of all namespaces; with -n alone, of that namespace' },
    on: {
      kind: 'value',
      value: 'NODES',
      parse: parseNodes,
      description: `The kind of nodes: ${NODES.join(', ')}; by default read from the node selector, or the labels of the node`,
    },
    run: {
      kind: 'value',
      value: 'RUN',
      parse: someText('the folder of the run'),
      description: 'Take the duration of a save from this run’s ledger (P95)',
    },
    save: { kind: 'value', value: 'TIME', parse: time, description: 'The duration of a save' },
    bytes: { kind: 'value', value: 'SIZE', parse: parseBytes, description: 'The size of a save; with --bandwidth' },
    bandwidth: {
      kind: 'value',
      value: 'RATE',
      parse: parseRate,
      description: 'Durable bytes per second (500MB/s), as probe measures them in the slowest tenth',
    },
    'grace-period': {
      kind: 'value',
      value: 'TIME',
      parse: time,
      description: 'Like kubectl delete --grace-period, for the line about a deletion',
    },
    kubelet: {
      kind: 'value',
      value: 'FILE',
      parse: someText('the file'),
      description: 'A KubeletConfiguration, or the answer of a node’s configz',
    },
    shutdown: { kind: 'value', value: 'TIME', parse: time, description: 'The kubelet’s shutdownGracePeriod' },
    'shutdown-critical': { kind: 'value', value: 'TIME', parse: time, description: 'The kubelet’s shutdownGracePeriodCriticalPods' },
    'eviction-max': { kind: 'value', value: 'TIME', parse: time, description: 'The kubelet’s evictionMaxPodGracePeriod' },
  },
  examples: [
    { line: 'grace -f job.yaml --on=gke-spot --save=45s', description: 'Does a save of 45 s fit, whatever ends the pod?' },
    { line: 'grace -f job.yaml --run=/runs/gpt2', description: 'With the save times of this run' },
    { line: 'grace -f job.yaml --bytes=40GiB --bandwidth=800MB/s', description: 'With the bandwidth that probe measured' },
    { line: 'grace pod/train-0 -n ml --context=prod', description: 'For a running pod' },
  ],

  async run({ values, operands, output, clock, signal, whileBusy }): Promise<ExitCode> {
    if ((values.bytes === null) !== (values.bandwidth === null)) {
      throw new HoldfastError('USAGE', { message: '--bytes and --bandwidth must be given together' });
    }
    const { file, kubeconfig, context, namespace } = values;
    const { findReports } = await import('./find-reports.ts');
    const found = await findReports({
      operands,
      file,
      source: { kubeconfig, context, namespace, isAllNamespaces: values['all-namespaces'], clock, signal, whileBusy },
      save: { run: values.run, ms: values.save, bytes: values.bytes, bytesPerSecond: values.bandwidth },
      choice: { cloud: values.on, deleteMs: values['grace-period'] },
      kubelet: {
        file: values.kubelet,
        shutdownMs: values.shutdown,
        criticalMs: values['shutdown-critical'],
        evictionMs: values['eviction-max'],
      },
    });
    const { showReports } = await import('./show-reports.ts');
    showReports(found, output);
    if (found.reports.length === 0) return EXIT.nothing;
    if (found.problems.length > 0) return EXIT.partly;
    const loses = found.reports.some(({ lines }) =>
      lines.some(({ verdict, isTold }) => verdict === 'loses' || (verdict === 'deaf' && isTold)),
    );
    return loses ? EXIT.no : EXIT.ok;
  },
});

function parseNodes(text: string): Parsed<CloudName> {
  const word = NODES.find((name) => name === text);
  return word === undefined ? refused(`"${excerpt(text, 40)}" is not one of ${NODES.join(', ')}`) : parsed(word);
}

function parseRate(text: string): Parsed<number> {
  const rate = parseBytes(text.replace(/\/s$/, ''));
  if (!rate.ok) return rate;
  return rate.value > 0 ? parsed(rate.value) : refused(`"${excerpt(text, 40)}" is not a rate above zero`);
}
