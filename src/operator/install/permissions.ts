import type { NewObject } from '../../kube/api/api-object.ts';
import { NODE_LEASE_NAMESPACE } from '../../kube/api/resources.ts';
import { NATIVE_GROUPS } from '../kinds/native-gang.ts';
import { JOB_KINDS } from '../kinds/table.ts';
import { TRAINING_RUNS } from '../training-run/training-run.ts';
import { clusterName, type InstallOptions, LABELS, NAME } from './options.ts';

/** A permission, in the words of RBAC. */
export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

const RBAC = 'rbac.authorization.k8s.io/v1';
const JOB_GROUPS = [...new Set(JOB_KINDS.map(({ resource }) => resource.group))];
const JOBS = JOB_KINDS.map(({ resource }) => resource.plural);

/** What the operator does in the namespaces of jobs. */
export const JOB_RULES: readonly Rule[] = [
  { apiGroups: JOB_GROUPS, resources: JOBS, verbs: ['get', 'list', 'watch', 'delete'] },
  { apiGroups: JOB_GROUPS, resources: JOBS.map((plural) => `${plural}/status`), verbs: ['update'] },
  // The owner references of pods block the deletion of their job. Some clusters (OpenShift) allow
  // such a reference only to who may change the finalizers of the owner.
  { apiGroups: JOB_GROUPS, resources: JOBS.map((plural) => `${plural}/finalizers`), verbs: ['update'] },
  { apiGroups: [TRAINING_RUNS.group], resources: [TRAINING_RUNS.plural], verbs: ['get', 'list', 'watch', 'create', 'delete'] },
  { apiGroups: [TRAINING_RUNS.group], resources: [`${TRAINING_RUNS.plural}/status`], verbs: ['update'] },
  // Jobs of Kubernetes that bear the label of a run.
  { apiGroups: ['batch'], resources: ['jobs'], verbs: ['get', 'list', 'watch', 'patch'] },
  { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch', 'create', 'delete'] },
  { apiGroups: [''], resources: ['pods/status'], verbs: ['update'] },
  { apiGroups: [''], resources: ['services'], verbs: ['list', 'watch', 'create', 'delete'] },
  { apiGroups: [''], resources: ['pods/log', 'persistentvolumeclaims'], verbs: ['get'] },
  { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
  { apiGroups: ['autoscaling'], resources: ['horizontalpodautoscalers'], verbs: ['get', 'create', 'patch', 'delete'] },
  // Gangs of Kubernetes itself, where it has them.
  { apiGroups: [NATIVE_GROUPS.group], resources: [NATIVE_GROUPS.plural], verbs: ['get', 'list', 'create', 'patch', 'delete'] },
];

/** What it reads of the nodes, which have no namespace. */
export const NODE_RULES: readonly Rule[] = [{ apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'watch'] }];

/**
 * What it does to make room for pods. That needs a look at all nodes and pods, so an operator of
 * one namespace does not.
 */
export const ROOM_RULES: readonly Rule[] = [
  { apiGroups: [''], resources: ['pods', 'pods/status'], verbs: ['patch'] },
  { apiGroups: [''], resources: ['pods/eviction'], verbs: ['create'] },
  { apiGroups: [''], resources: ['events', 'namespaces'], verbs: ['list'] },
  { apiGroups: ['policy'], resources: ['poddisruptionbudgets'], verbs: ['list'] },
];

/** What it does in its own namespace, to elect a leader. */
export function leaseRules(watchNamespace: string | null): readonly Rule[] {
  const group = { apiGroups: ['coordination.k8s.io'], resources: ['leases'] };
  // A creation cannot be limited to a name.
  return [
    { ...group, verbs: ['create'] },
    { ...group, resourceNames: [clusterName(watchNamespace)], verbs: ['get', 'update'] },
  ];
}

/** What it reads among the Leases of nodes: when their kubelets were last heard of. */
export const NODE_LEASE_RULES: readonly Rule[] = [{ apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get'] }];

/** The roles of the operator, each with its binding. */
export function permissions(options: InstallOptions): readonly NewObject[] {
  const { namespace, watchNamespace } = options;
  const everywhere = { name: clusterName(watchNamespace) };
  const leases = [
    ...granted('Role', { name: `${NAME}-lease`, namespace }, leaseRules(watchNamespace), options),
    ...granted('Role', { ...everywhere, namespace: NODE_LEASE_NAMESPACE }, NODE_LEASE_RULES, options),
  ];
  if (watchNamespace === null)
    return [...granted('ClusterRole', everywhere, [...JOB_RULES, ...NODE_RULES, ...ROOM_RULES], options), ...leases];
  return [
    ...granted('ClusterRole', everywhere, NODE_RULES, options),
    ...granted('Role', { name: NAME, namespace: watchNamespace }, JOB_RULES, options),
    ...leases,
  ];
}

function granted(
  kind: 'Role' | 'ClusterRole',
  place: { readonly name: string; readonly namespace?: string },
  rules: readonly Rule[],
  { namespace }: InstallOptions,
): readonly NewObject[] {
  const metadata = { ...place, labels: LABELS };
  return [
    { apiVersion: RBAC, kind, metadata, rules },
    {
      apiVersion: RBAC,
      kind: `${kind}Binding`,
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: place.name },
      subjects: [{ kind: 'ServiceAccount', name: NAME, namespace }],
    },
  ];
}
