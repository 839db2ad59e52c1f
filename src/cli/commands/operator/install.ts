import { EXIT, type ExitCode } from '../../../core/exit-codes.ts';
import { defineCommand } from '../../frame/command.ts';
import { parseImage, PLACE_OPTIONS } from './install-options.ts';

/** The command `holdfast operator install`. */
export const install = defineCommand({
  description:
    'Prints the manifests of the operator for kubectl, and changes nothing: two replicas of which one leads, the permissions that they need, and the rules that refuse invalid jobs. The custom resources are separate, because a cluster with the Training Operator v1 has PyTorchJobs and TFJobs already: then those are used as they are.',
  operand: null,
  options: {
    ...PLACE_OPTIONS,
    image: { kind: 'value', value: 'IMAGE', parse: parseImage, description: 'The image of the operator. None is published yet' },
    crds: { kind: 'flag', description: 'Print the custom resources instead: PyTorchJob, TFJob and TrainingRun' },
    alerts: {
      kind: 'flag',
      description: 'Print the alerts instead, for the operator of Prometheus: PrometheusRule and ServiceMonitor',
    },
    'replace-training-operator': {
      kind: 'flag',
      description: 'Print a script instead that moves the jobs of the Training Operator v1 here, and the way back',
    },
    'status-policy': {
      kind: 'flag',
      description: 'Print a NetworkPolicy for a namespace of jobs instead: only the operator reads the status of supervisors (port 9400)',
    },
  },
  examples: [
    { line: 'operator install --crds | kubectl apply --server-side -f -', description: 'The custom resources, first' },
    {
      line: 'operator install --image=ghcr.io/me/holdfast | kubectl apply --server-side -f -',
      description: 'The operator, for all namespaces',
    },
    {
      line: 'operator install --image=ghcr.io/me/holdfast --namespace=trial --watch-namespace=trial',
      description: 'An operator for one namespace, beside another operator',
    },
  ],

  async run({ values, output }): Promise<ExitCode> {
    const { printInstallation } = await import('./print-installation.ts');
    printInstallation(values, output);
    return EXIT.ok;
  },
});
