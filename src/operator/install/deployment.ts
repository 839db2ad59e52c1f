import type { NewObject } from '../../kube/api/api-object.ts';
import { type InstallOptions, LABELS, METRICS_PORT, NAME, POD_SELECTOR, USER } from './options.ts';

const PROBE = { periodSeconds: 10, timeoutSeconds: 5 };
/** Half of it is left for the jobs of a large cluster; a limit of CPU would only slow restarts. */
const RESOURCES = { requests: { cpu: '100m', memory: '256Mi' }, limits: { memory: '1Gi' } };

/** The Secret that may hold the address for notifications. */
const NOTIFY_VARIABLE = {
  name: 'HOLDFAST_NOTIFY',
  valueFrom: { secretKeyRef: { name: `${NAME}-notify`, key: 'url', optional: true } },
};

/** Two operators, of which one leads. They pass Pod Security at its strictest level. */
export function deployment(options: InstallOptions): NewObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: NAME, namespace: options.namespace, labels: LABELS },
    spec: {
      replicas: 2,
      selector: { matchLabels: POD_SELECTOR },
      template: { metadata: { labels: { ...LABELS, ...POD_SELECTOR } }, spec: podSpec(options) },
    },
  };
}

function podSpec(options: InstallOptions): Readonly<Record<string, unknown>> {
  return {
    serviceAccountName: NAME,
    // Time to end its work and to hand over the Lease.
    terminationGracePeriodSeconds: 30,
    securityContext: { runAsNonRoot: true, runAsUser: USER, runAsGroup: USER, seccompProfile: { type: 'RuntimeDefault' } },
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: 'kubernetes.io/hostname',
        whenUnsatisfiable: 'ScheduleAnyway',
        labelSelector: { matchLabels: POD_SELECTOR },
      },
    ],
    containers: [
      {
        name: 'operator',
        image: options.image,
        args: operatorArgs(options),
        env: [fieldVariable('POD_NAME', 'metadata.name'), NOTIFY_VARIABLE],
        ports: [{ name: 'metrics', containerPort: METRICS_PORT }],
        livenessProbe: { httpGet: { path: '/healthz', port: 'metrics' }, ...PROBE },
        readinessProbe: { httpGet: { path: '/readyz', port: 'metrics' }, ...PROBE },
        resources: RESOURCES,
        securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
      },
    ],
  };
}

function operatorArgs({ namespace, image, watchNamespace }: InstallOptions): readonly string[] {
  return [
    'operator',
    'run',
    '--leader-elect',
    `--namespace=${namespace}`,
    `--listen=0.0.0.0:${METRICS_PORT}`,
    // Supervised pods copy the supervisor out of it.
    `--image=${image}`,
    ...(watchNamespace === null ? [] : [`--watch-namespace=${watchNamespace}`]),
  ];
}

function fieldVariable(name: string, fieldPath: string): Readonly<Record<string, unknown>> {
  return { name, valueFrom: { fieldRef: { fieldPath } } };
}
