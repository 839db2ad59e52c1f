import { type BudgetCase, type ClusterCase, GPU, type NodeCase, type PodCase, type PodTerm, type Resources } from './scheduling.ts';

/** The question, in the objects of the API. */
export function scheduleQuestion({ pod, nodes, pods, budgets }: ClusterCase): unknown {
  return {
    schedule: { pod: podObject(pod), nodes: nodes.map(nodeObject), pods: pods.map(podObject), budgets: budgets.map(budgetObject) },
  };
}

function quantities({ cpu, memory, gpu }: Resources): Readonly<Record<string, string>> {
  return {
    ...(cpu === 0 ? {} : { cpu: `${cpu}m` }),
    ...(memory === 0 ? {} : { memory: `${memory}Mi` }),
    ...(gpu === 0 ? {} : { [GPU]: String(gpu) }),
  };
}

function nodeObject({ name, allocatable, labels, taints, isCordoned }: NodeCase): unknown {
  const amounts = { ...quantities(allocatable), pods: String(allocatable.pods) };
  return {
    metadata: { name, labels },
    spec: { taints, ...(isCordoned ? { unschedulable: true } : {}) },
    status: { allocatable: amounts, capacity: amounts },
  };
}

function podObject(pod: PodCase): unknown {
  const ports = pod.hostPort === undefined ? [] : [{ containerPort: pod.hostPort, hostPort: pod.hostPort, protocol: 'TCP' }];
  const container = (name: string, amounts: Resources, more: object): object => ({
    name,
    image: 'x',
    resources: { requests: quantities(amounts) },
    ...more,
  });
  const hasInit = Object.values(pod.initRequests).some((amount) => amount > 0);
  const spread = pod.spread === undefined ? [] : [{ ...term(pod.spread), maxSkew: pod.spread.maxSkew, whenUnsatisfiable: 'DoNotSchedule' }];
  return {
    metadata: { name: pod.name, namespace: 'default', uid: pod.name, labels: { app: pod.app } },
    spec: {
      ...(pod.node === '' ? {} : { nodeName: pod.node }),
      ...(pod.priority === undefined ? {} : { priority: pod.priority }),
      ...(pod.isNeverPreempting ? { preemptionPolicy: 'Never' } : {}),
      containers: [container('main', pod.requests, { ports })],
      ...(hasInit ? { initContainers: [container('init', pod.initRequests, {})] } : {}),
      tolerations: pod.tolerations,
      nodeSelector: pod.nodeSelector,
      affinity: affinity(pod),
      topologySpreadConstraints: spread,
    },
    status: pod.node === '' ? {} : { phase: 'Running', startTime: new Date(pod.startedAt * 1000).toISOString().replace('.000Z', 'Z') },
  };
}

function affinity({ nodeTerms, affinity: near, antiAffinity: apart }: PodCase): unknown {
  return {
    ...(nodeTerms === undefined
      ? {}
      : { nodeAffinity: required({ nodeSelectorTerms: nodeTerms.map((matchExpressions) => ({ matchExpressions })) }) }),
    ...(near.length === 0 ? {} : { podAffinity: required(near.map(term)) }),
    ...(apart.length === 0 ? {} : { podAntiAffinity: required(apart.map(term)) }),
  };
}

const required = (what: unknown): unknown => ({ requiredDuringSchedulingIgnoredDuringExecution: what });

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
