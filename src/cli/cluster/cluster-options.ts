import type { OptionTable } from '../frame/command.ts';
import { someText } from '../frame/option-values.ts';

/** Which cluster and which namespace, named as kubectl names them. */
export const CLUSTER_OPTIONS = {
  file: {
    kind: 'value',
    value: 'FILE',
    short: 'f',
    parse: someText('the file'),
    description: 'Read objects from this file or folder (JSON or YAML; - for standard input) instead of from a cluster',
  },
  namespace: {
    kind: 'value',
    value: 'NAMESPACE',
    short: 'n',
    parse: someText('the namespace'),
    description: 'The namespace (default: the one of the context)',
  },
  context: { kind: 'value', value: 'CONTEXT', parse: someText('the context'), description: 'The context of the kubeconfig' },
  kubeconfig: {
    kind: 'value',
    value: 'FILE',
    parse: someText('the kubeconfig'),
    description: 'The kubeconfig (default: the one that kubectl uses)',
  },
} as const satisfies OptionTable;

/** A target as people write it: `pod/train-0`; null: it is a path. */
export function parseTarget(text: string): { readonly kind: string; readonly name: string } | null {
  const match = /^([A-Za-z]{2,40})\/([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?)$/.exec(text);
  const kind = KINDS[match?.[1]?.toLowerCase() ?? ''];
  return match === null || kind === undefined ? null : { kind, name: match[2] ?? '' };
}

const KINDS: Readonly<Record<string, string>> = Object.fromEntries(
  (
    [
      ['Pod', 'po', 'pods'],
      ['Job', 'jobs'],
      ['CronJob', 'cj', 'cronjobs'],
      ['PyTorchJob', 'pytorchjobs'],
      ['TFJob', 'tfjobs'],
      ['JobSet', 'jobsets'],
      ['TrainingRun', 'hfr', 'trainingruns'],
    ] as const
  ).flatMap(([kind, ...others]) => [kind.toLowerCase(), ...others].map((word) => [word, kind])),
);
