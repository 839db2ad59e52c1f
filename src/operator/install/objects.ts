import type { NewObject } from '../../kube/api/api-object.ts';
import { admissionPolicies } from './admission.ts';
import { deployment } from './deployment.ts';
import { DEFAULT_NAMESPACE, type InstallOptions, LABELS, METRICS_PORT, NAME, POD_SELECTOR } from './options.ts';
import { permissions } from './permissions.ts';

/** Everything that runs the operator, in the order in which it can be created. */
export function installObjects(options: InstallOptions): readonly NewObject[] {
  return [namespace(options), ...objectsWithin(options)];
}

/** The same without the namespace, which Helm makes by itself. */
export function objectsWithin(options: InstallOptions): readonly NewObject[] {
  return [
    serviceAccount(options),
    ...permissions(options),
    ...admissionPolicies(options.watchNamespace),
    ...network(options),
    disruptionBudget(options),
    deployment(options),
  ];
}

/**
 * What to delete so that the operator is gone, the Deployment first. Namespaces and custom
 * resources stay, because jobs, pods and TrainingRuns go with them.
 */
export function uninstallObjects(options: Omit<InstallOptions, 'image'>): readonly NewObject[] {
  return objectsWithin({ ...options, image: '' })
    .toReversed()
    .map(({ apiVersion, kind, metadata: { name = '', namespace: place } }) => ({
      apiVersion,
      kind,
      metadata: place === undefined ? { name } : { name, namespace: place },
    }));
}

/** Pod Security is enforced only in a namespace that is certainly the operator's own. */
function namespace({ namespace: name }: InstallOptions): NewObject {
  const isOwn = name === DEFAULT_NAMESPACE;
  const security = { 'pod-security.kubernetes.io/enforce': 'restricted' };
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, ...(isOwn ? { labels: { ...LABELS, ...security } } : {}) } };
}

function serviceAccount({ namespace: place }: InstallOptions): NewObject {
  return { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: NAME, namespace: place, labels: LABELS } };
}

/** The Service is for Prometheus; nothing else of the operator's pods can be reached. */
function network({ namespace: place }: InstallOptions): readonly NewObject[] {
  const metadata = { name: NAME, namespace: place, labels: LABELS };
  return [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: { selector: POD_SELECTOR, ports: [{ name: 'metrics', port: METRICS_PORT, targetPort: 'metrics' }] },
    },
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata,
      spec: {
        podSelector: { matchLabels: POD_SELECTOR },
        policyTypes: ['Ingress'],
        ingress: [{ ports: [{ port: 'metrics', protocol: 'TCP' }] }],
      },
    },
  ];
}

function disruptionBudget({ namespace: place }: InstallOptions): NewObject {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: NAME, namespace: place, labels: LABELS },
    spec: { maxUnavailable: 1, selector: { matchLabels: POD_SELECTOR } },
  };
}
