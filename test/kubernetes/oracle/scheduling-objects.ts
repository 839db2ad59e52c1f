import {
  type BudgetCase,
  type ClusterCase,
  type Expression,
  GPU,
  type GroupCase,
  MIB,
  type NodeCase,
  type PodCase,
  type PodTerm,
  type Resources,
  type Spread,
  type Wish,
} from './scheduling.ts';

type Asking = Pick<PodCase, 'image' | 'requests' | 'init' | 'overhead' | 'hostPort'>;

/** A case as objects of the API, for Kubernetes’ own scheduler. */
export interface ScheduleQuestion {
  readonly schedule: ClusterObjects & {
    readonly pod: object;
    readonly nominated: readonly object[];
  };
}

/** The same about pods of a PodGroup that come together. */
export interface GangQuestion {
  readonly gang: ClusterObjects & { readonly group: string; readonly members: readonly object[] };
}

interface ClusterObjects {
  readonly nodes: readonly object[];
  readonly pods: readonly object[];
  readonly budgets: readonly object[];
  /** Absent: the release has none. */
  readonly groups?: readonly object[];
}

/** The question as objects of the API. */
export function scheduleQuestion(cluster: ClusterCase, groups?: readonly GroupCase[]): ScheduleQuestion {
  const { pod, nominated } = cluster;
  return {
    schedule: {
      ...clusterObjects(cluster, groups),
      pod: podObject(pod, {}, {}),
      nominated: nominated.map((each) => podObject(each, {}, { nominatedNodeName: each.node })),
    },
  };
}

/** The question about members of a group, none of which has a node. */
export function gangQuestion(cluster: ClusterCase, groups: readonly GroupCase[], members: readonly PodCase[]): GangQuestion {
  const group = members[0]?.group ?? '';
  return { gang: { ...clusterObjects(cluster, groups), group, members: members.map((each) => podObject(each, {}, {})) } };
}

function clusterObjects({ nodes, pods, budgets }: ClusterCase, groups: readonly GroupCase[] | undefined): ClusterObjects {
  return {
    nodes: nodes.map(nodeObject),
    pods: pods.map((each) => podObject(each, { nodeName: each.node }, { phase: 'Running', ...startTime(each) })),
    budgets: budgets.map(budgetObject),
    ...(groups === undefined ? {} : { groups: groups.map(groupObject) }),
  };
}

function groupObject({ name, minCount, goesTogether, priority }: GroupCase): object {
  return {
    metadata: { name, namespace: 'default', uid: name },
    spec: {
      schedulingPolicy: minCount === undefined ? { basic: {} } : { gang: { minCount } },
      disruptionMode: goesTogether ? { all: {} } : { single: {} },
      priority,
    },
  };
}

function quantities({ cpu, memory, gpu, disk }: Resources): Readonly<Record<string, string>> {
  return {
    ...(cpu === 0 ? {} : { cpu: `${cpu}m` }),
    ...(memory === 0 ? {} : { memory: `${memory}Mi` }),
    ...(gpu === 0 ? {} : { [GPU]: String(gpu) }),
    ...(disk === 0 ? {} : { 'ephemeral-storage': `${disk}Mi` }),
  };
}

/** The part of a pod's spec that states its requests. */
export function containersOf({ image, requests, init, overhead, hostPort }: Asking): object {
  const container = (name: string, from: string, amounts: Resources, more: object): object => ({
    name,
    image: from,
    resources: { requests: quantities(amounts) },
    ...more,
  });
  const ports = hostPort === undefined ? [] : [{ containerPort: hostPort, hostPort, protocol: 'TCP' }];
  const before = init.map((each, index) =>
    container(`init-${index}`, each.image, each.requests, each.isSidecar ? { restartPolicy: 'Always' } : {}),
  );
  return {
    containers: [container('main', image, requests, { ports })],
    ...(before.length === 0 ? {} : { initContainers: before }),
    ...(overhead === undefined ? {} : { overhead: quantities(overhead) }),
  };
}

function startTime({ startedAt }: PodCase): object {
  return Number.isFinite(startedAt) ? { startTime: new Date(startedAt * 1000).toISOString().replace('.000Z', 'Z') } : {};
}

function nodeObject({ name, allocatable, labels, taints, isCordoned, images }: NodeCase): object {
  const amounts = { ...quantities(allocatable), pods: String(allocatable.pods) };
  return {
    metadata: { name, labels },
    spec: { taints, ...(isCordoned ? { unschedulable: true } : {}) },
    status: {
      allocatable: amounts,
      capacity: amounts,
      images: [...images].map(([image, size]) => ({ names: [image], sizeBytes: size * MIB })),
    },
  };
}

function podObject(pod: PodCase, place: object, status: object): object {
  const spread = (whenUnsatisfiable: string, { app, topologyKey, ...constraint }: Spread): object => ({
    ...term({ app, topologyKey }),
    ...constraint,
    whenUnsatisfiable,
  });
  return {
    metadata: {
      name: pod.name,
      namespace: pod.namespace,
      uid: pod.name,
      labels: { app: pod.app, tier: pod.tier },
      ...(pod.isEnding ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
    },
    spec: {
      ...place,
      ...(pod.priority === undefined ? {} : { priority: pod.priority }),
      ...(pod.isNeverPreempting ? { preemptionPolicy: 'Never' } : {}),
      ...(pod.group === undefined ? {} : { schedulingGroup: { podGroupName: pod.group } }),
      ...containersOf(pod),
      tolerations: pod.tolerations,
      nodeSelector: pod.nodeSelector,
      affinity: affinity(pod),
      topologySpreadConstraints: [
        ...pod.spread.map((constraint) => spread('DoNotSchedule', constraint)),
        ...pod.spreadWishes.map((wish) => spread('ScheduleAnyway', wish)),
      ],
    },
    status,
  };
}

function affinity(pod: PodCase): unknown {
  const { nodeTerms, nodeName, nodeWishes, affinity: near, antiAffinity: apart, nearWishes, apartWishes } = pod;
  const named = nodeName === undefined ? {} : { matchFields: [{ key: 'metadata.name', operator: 'In', values: [nodeName] }] };
  const terms = nodeTerms ?? (nodeName === undefined ? undefined : [[]]);
  const nodes = terms === undefined ? {} : required({ nodeSelectorTerms: terms.map((each) => ({ ...nodeTerm(each), ...named })) });
  return {
    nodeAffinity: { ...nodes, ...preferred(nodeWishes, (what) => ({ preference: nodeTerm(what) })) },
    podAffinity: { ...required(near.map(term)), ...preferred(nearWishes, (what) => ({ podAffinityTerm: term(what) })) },
    podAntiAffinity: { ...required(apart.map(term)), ...preferred(apartWishes, (what) => ({ podAffinityTerm: term(what) })) },
  };
}

const required = (what: unknown): object => ({ requiredDuringSchedulingIgnoredDuringExecution: what });
const nodeTerm = (matchExpressions: readonly Expression[]): object => ({ matchExpressions });

function preferred<What>(wishes: readonly Wish<What>[], told: (what: What) => object): object {
  return { preferredDuringSchedulingIgnoredDuringExecution: wishes.map(({ weight, what }) => ({ weight, ...told(what) })) };
}

function term({ app, topologyKey, namespaces }: PodTerm): object {
  return { topologyKey, labelSelector: { matchLabels: { app } }, ...(namespaces === undefined ? {} : { namespaces }) };
}

function budgetObject({ name, namespace, selects, allowed, disrupted }: BudgetCase): object {
  return {
    metadata: { name, namespace },
    spec: { selector: { matchLabels: selects } },
    status: { disruptionsAllowed: allowed, disruptedPods: Object.fromEntries(disrupted.map((pod) => [pod, '2026-01-01T00:00:00Z'])) },
  };
}
