import type { NewObject } from '../../kube/api/api-object.ts';
import { V1_LABELS } from '../kinds/names.ts';
import { LABELS, POD_SELECTOR } from './options.ts';

/** The port of `holdfast run --status=0.0.0.0:9400`. */
const STATUS_PORT = 9400;
const LAST_PORT = 65_535;

/**
 * The NetworkPolicy for a namespace of jobs: of all pods in the cluster, only the operator reaches
 * the status port of a supervisor. Every other port stays open, because ranks talk to each other.
 */
export function statusPolicy(operatorNamespace: string): NewObject {
  const ports = (protocol: 'TCP' | 'UDP', port: number, endPort: number): unknown => ({ protocol, port, endPort });
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'holdfast-status', labels: LABELS },
    spec: {
      podSelector: { matchExpressions: [{ key: V1_LABELS.job, operator: 'Exists' }] },
      policyTypes: ['Ingress'],
      ingress: [
        {
          from: [
            {
              namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': operatorNamespace } },
              podSelector: { matchLabels: POD_SELECTOR },
            },
          ],
          ports: [{ protocol: 'TCP', port: STATUS_PORT }],
        },
        { ports: [ports('TCP', 1, STATUS_PORT - 1), ports('TCP', STATUS_PORT + 1, LAST_PORT), ports('UDP', 1, LAST_PORT)] },
      ],
    },
  };
}
