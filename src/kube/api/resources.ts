import type { Resource } from './resource.ts';

/** A pod. */
export const PODS: Resource = { group: '', version: 'v1', plural: 'pods', kind: 'Pod', isNamespaced: true };
/** A service. */
export const SERVICES: Resource = { group: '', version: 'v1', plural: 'services', kind: 'Service', isNamespaced: true };
/** An event of the core API, which kubectl shows under an object. */
export const EVENTS: Resource = { group: '', version: 'v1', plural: 'events', kind: 'Event', isNamespaced: true };
/** A node. */
export const NODES: Resource = { group: '', version: 'v1', plural: 'nodes', kind: 'Node', isNamespaced: false };
/** A Job of Kubernetes. */
export const JOBS: Resource = { group: 'batch', version: 'v1', plural: 'jobs', kind: 'Job', isNamespaced: true };
/** A claim of a volume. */
export const CLAIMS: Resource = {
  group: '',
  version: 'v1',
  plural: 'persistentvolumeclaims',
  kind: 'PersistentVolumeClaim',
  isNamespaced: true,
};
/** A lease, which elects a leader. */
export const LEASES: Resource = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases', kind: 'Lease', isNamespaced: true };
/** Where each kubelet renews a Lease with the name of its node, every ten seconds. */
export const NODE_LEASE_NAMESPACE = 'kube-node-lease';
/** A namespace. */
export const NAMESPACES: Resource = { group: '', version: 'v1', plural: 'namespaces', kind: 'Namespace', isNamespaced: false };
/** A budget for the disruptions of pods. */
export const BUDGETS: Resource = {
  group: 'policy',
  version: 'v1',
  plural: 'poddisruptionbudgets',
  kind: 'PodDisruptionBudget',
  isNamespaced: true,
};
