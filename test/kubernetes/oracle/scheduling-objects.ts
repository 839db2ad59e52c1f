import {
  type BudgetCase,
  type ClusterCase,
  type Expression,
  GPU,
  MIB,
  type NodeCase,
  type PodCase,
  type PodTerm,
  type Resources,
  type Spread,
  type Wish,
} from './scheduling.ts';

type Asking = Pick<PodCase, 'image' | 'requests' | 'init' | 'overhead' | 'hostPort'>;

/** The question, in the objects of the API. */
export function scheduleQuestion({ pod, nodes, pods, nominated, budgets }: ClusterCase): object {
  return {
    schedule: {
      pod: podObject(pod, {}, {}),
      nodes: nodes.map(nodeObject),
      pods: pods.map((each) => podObject(each, { nodeName: each.node }, { phase: 'Running', ...startTime(each) })),
      nominated: nominated.map((each) => podObject(each, {}, { nominatedNodeName: each.node })),
      budgets: budgets.map(budgetObject),
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

/** What of a pod's spec tells what it asks for. */
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

function nodeObject({ name, allocatable, labels, taints, isCordoned, images }: NodeCase): unknown {
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

function podObject(pod: PodCase, place: object, status: object): unknown {
  const spread = (whenUnsatisfiable: string, { app, topologyKey, ...constraint }: Spread): object => ({
    ...term({ app, topologyKey }),
    ...constraint,
    whenUnsatisfiable,
  });
  return {
    metadata: { name: pod.name, namespace: 'default', uid: pod.name, labels: { app: pod.app } },
    spec: {
      ...place,
      ...(pod.priority === undefined ? {} : { priority: pod.priority }),
      ...(pod.isNeverPreempting ? { preemptionPolicy: 'Never' } : {}),
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
  const { nodeTerms, nodeWishes, affinity: near, antiAffinity: apart, nearWishes, apartWishes } = pod;
  const nodes = nodeTerms === undefined ? {} : required({ nodeSelectorTerms: nodeTerms.map(nodeTerm) });
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

function term({ app, topologyKey }: PodTerm): object {
  return { topologyKey, labelSelector: { matchLabels: { app } } };
}

function budgetObject({ name, app, allowed, disrupted }: BudgetCase): unknown {
  return {
    metadata: { name, namespace: 'default' },
    spec: { selector: { matchLabels: { app } } },
    status: { disruptionsAllowed: allowed, disruptedPods: Object.fromEntries(disrupted.map((pod) => [pod, '2026-01-01T00:00:00Z'])) },
  };
}
