import type { Rng } from '../../../src/core/rng.ts';
import { maybe, several, shuffled } from './check.ts';
import {
  type BudgetCase,
  type ClusterCase,
  type Expression,
  HOSTNAME,
  type NodeCase,
  type PodCase,
  type PodTerm,
  type Resources,
  type Spread,
  type Taint,
  type Toleration,
  type Wish,
  ZONE,
} from './scheduling.ts';

const APPS = ['train', 'serve', 'batch'] as const;
/** The values of the label by which only budgets select. */
export const TIERS = ['front', 'back'] as const;
const KEYS = [HOSTNAME, ZONE] as const;
const NAMESPACES = ['default', 'default', 'default', 'other'] as const;
const TAINTS: readonly Taint[] = [
  { key: 'spot', effect: 'NoSchedule' },
  { key: 'maintenance', effect: 'NoExecute' },
];
const UNLIKED: readonly Taint[] = [
  { key: 'slow', effect: 'PreferNoSchedule' },
  { key: 'old', effect: 'PreferNoSchedule' },
  { key: 'spot', effect: 'PreferNoSchedule' },
];
/** The values of taints and tolerations; the empty one is a value too. */
const VALUES = ['', 'yes', 'no'] as const;
const TOLERATIONS: readonly Toleration[] = [
  { key: 'spot', operator: 'Exists' },
  { key: 'spot', operator: 'Exists', effect: 'NoExecute' },
  { key: 'spot', operator: 'Equal', value: 'yes' },
  { key: 'spot', value: 'no', effect: 'NoSchedule' },
  { key: 'maintenance', operator: 'Exists', effect: 'NoExecute' },
  { key: 'maintenance', operator: 'Equal', value: 'yes', effect: 'NoExecute' },
  { key: 'slow', operator: 'Exists', effect: 'PreferNoSchedule' },
  { key: 'slow', operator: 'Equal', value: '' },
  { key: 'old' },
  { key: 'node.kubernetes.io/unschedulable', operator: 'Equal' },
  { operator: 'Exists' },
];
/** Image names, as pods write them and as nodes report them. */
const IMAGES = [
  ['train:1', 'train:1'],
  ['registry.example/serve', 'registry.example/serve:latest'],
  ['registry.example:5000/batch', 'registry.example:5000/batch:latest'],
] as const;

/** A small, rather full cluster, and a pod that may or may not fit. */
export function someCluster(rng: Rng): ClusterCase {
  const nodes = several(rng.pick([1, 2, 3, 4, 5, 6, 6]), (index) => someNode(rng, `node-${index}`));
  let started = 0;
  const pods = nodes.flatMap(({ name }, at) => {
    // No node has the same port twice.
    const ports = new Set<number>();
    return several(rng.integer(0, 4), (index) => {
      started += rng.integer(1, 100);
      const { hostPort, ...pod } = somePod(rng, `pod-${at}-${index}`);
      const isFree = hostPort !== undefined && !ports.has(hostPort);
      if (isFree) ports.add(hostPort);
      const place = { node: name, startedAt: started, isEnding: rng.next() < 0.08 };
      return { ...pod, ...place, hostPort: isFree ? hostPort : undefined };
    });
  });
  const unstarted = pods.length === 0 ? undefined : maybe(rng, 0.2, () => rng.integer(0, pods.length - 1));
  const promised = several(rng.next() < 0.3 ? rng.integer(1, 2) : 0, (index) => ({
    ...somePod(rng, `nominated-${index}`),
    priority: rng.pick([undefined, 5, 50, 2000]),
    node: rng.pick(nodes).name,
  }));
  const isContested = rng.next() < 0.3;
  const budgets = isContested ? contestedBudgets(rng) : several(rng.integer(0, 3), (index) => someBudget(rng, `budget-${index}`, pods));
  const placed = pods.map((pod, index) => ({
    ...pod,
    ...(index === unstarted ? { startedAt: Number.POSITIVE_INFINITY } : {}),
    ...(isContested ? { namespace: 'default' } : {}),
  }));
  return {
    pod: {
      ...somePod(rng, 'wanted'),
      priority: rng.pick([undefined, 5, 50, 1000, 1000, 1000]),
      nodeName: maybe(rng, 0.05, () => rng.pick([...nodes.map(({ name }) => name), 'gone'])),
    },
    nodes,
    pods: placed,
    nominated: promised,
    budgets,
  };
}

function someNode(rng: Rng, name: string): NodeCase {
  const labels = {
    [HOSTNAME]: name,
    ...maybe(rng, 0.85, () => ({ [ZONE]: rng.pick(['a', 'b', 'c']) })),
    ...maybe(rng, 0.7, () => ({ disk: rng.pick(['ssd', 'hdd']) })),
    ...maybe(rng, 0.7, () => ({ generation: String(rng.integer(1, 4)) })),
  };
  return {
    name,
    allocatable: {
      cpu: rng.integer(1, 5) * 1000,
      memory: rng.integer(1, 8) * 1024,
      gpu: rng.pick([0, 0, 1, 2, 4]),
      disk: rng.pick([0, 4, 8, 8, 16, 16]) * 1024,
      pods: rng.integer(2, 6),
    },
    labels,
    taints: [...TAINTS.filter(() => rng.next() < 0.12), ...UNLIKED.filter(() => rng.next() < 0.3)].map((taint) => ({
      ...taint,
      ...maybe(rng, 0.7, () => ({ value: rng.pick(VALUES) })),
    })),
    isCordoned: rng.next() < 0.08,
    images: new Map(IMAGES.filter(() => rng.next() < 0.5).map(([, image]) => [image, rng.integer(1, 1500)])),
  };
}

export function somePod(rng: Rng, name: string): PodCase {
  const resources = (): Resources => ({
    cpu: rng.integer(0, 6) * 250,
    memory: rng.integer(0, 5) * 512,
    gpu: rng.pick([0, 0, 0, 0, 1, 2]),
    disk: rng.pick([0, 0, 0, 0, 1, 2]) * 1024,
  });
  const some = <Item>(chance: number, make: () => Item): Item[] => several(rng.next() < chance ? rng.integer(1, 2) : 0, make);
  const wish = <What>(what: What): Wish<What> => ({ weight: rng.integer(1, 100), what });
  return {
    name,
    namespace: rng.pick(NAMESPACES),
    isEnding: false,
    node: '',
    app: rng.pick(APPS),
    tier: rng.pick(TIERS),
    priority: rng.pick([undefined, 0, 10, 10, 100]),
    startedAt: 0,
    image: rng.pick(IMAGES)[0],
    requests: resources(),
    init: some(0.25, () => ({ image: rng.pick(IMAGES)[0], requests: resources(), isSidecar: rng.next() < 0.5 })),
    overhead: maybe(rng, 0.1, () => ({ cpu: rng.integer(0, 2) * 250, memory: rng.integer(0, 2) * 128, gpu: 0, disk: 0 })),
    hostPort: maybe(rng, 0.15, () => rng.pick([8080, 9090])),
    tolerations: TOLERATIONS.filter(() => rng.next() < 0.1),
    nodeSelector: maybe(rng, 0.08, () => ({ disk: rng.pick(['ssd', 'hdd']) })) ?? {},
    nodeTerms: maybe(rng, 0.12, () => several(rng.integer(1, 2), () => several(rng.integer(1, 2), () => someExpression(rng)))),
    nodeName: undefined,
    nodeWishes: some(0.4, () => wish(several(rng.integer(1, 2), () => someExpression(rng)))),
    affinity: some(0.12, () => someTerm(rng)),
    antiAffinity: some(0.15, () => someTerm(rng)),
    nearWishes: some(0.2, () => wish(someTerm(rng))),
    apartWishes: some(0.2, () => wish(someTerm(rng))),
    spread: someSpreads(rng, 0.2, () => maybe(rng, 0.6, () => ({ minDomains: rng.integer(1, 5) })) ?? {}),
    spreadWishes: someSpreads(rng, 0.3, () => ({})),
    isNeverPreempting: rng.next() < 0.1,
  };
}

function someTerm(rng: Rng): PodTerm {
  const namespaces = maybe(rng, 0.15, () => [rng.pick(NAMESPACES)]);
  return { app: rng.pick(APPS), topologyKey: rng.pick(KEYS), ...(namespaces === undefined ? {} : { namespaces }) };
}

/** At most one for each kind of domain; Kubernetes accepts no more. */
function someSpreads(rng: Rng, chance: number, more: () => Partial<Spread>): Spread[] {
  if (rng.next() >= chance) return [];
  const policy = (): 'Honor' | 'Ignore' => rng.pick(['Honor', 'Ignore']);
  return shuffled(KEYS, rng)
    .slice(0, rng.integer(1, KEYS.length))
    .map((topologyKey) => ({
      app: rng.pick(APPS),
      topologyKey,
      maxSkew: rng.integer(1, 3),
      ...maybe(rng, 0.3, () => ({ nodeAffinityPolicy: policy() })),
      ...maybe(rng, 0.4, () => ({ nodeTaintsPolicy: policy() })),
      ...more(),
    }));
}

function someExpression(rng: Rng): Expression {
  const [key, values] = rng.pick([
    ['disk', ['ssd', 'hdd']],
    [ZONE, ['a', 'b', 'c']],
    ['generation', ['1', '2', '3']],
  ] as const);
  const operator = rng.pick(key === 'generation' ? (['Gt', 'Lt'] as const) : (['In', 'NotIn', 'Exists', 'DoesNotExist'] as const));
  const count = { In: 2, NotIn: 1, Exists: 0, DoesNotExist: 0, Gt: 1, Lt: 1 }[operator];
  const first = rng.integer(0, values.length - 1);
  return { key, operator, values: several(count, (index) => String(values[(first + index) % values.length])) };
}

/** A budget that allows nothing, and others of which some pods have one beside the first. */
function contestedBudgets(rng: Rng): readonly BudgetCase[] {
  const budget = (name: string, selects: BudgetCase['selects'], allowed: number): BudgetCase => ({
    name,
    namespace: 'default',
    selects,
    allowed,
    disrupted: [],
  });
  const tiers = TIERS.map((tier) => budget(`budget-${tier}`, { tier }, rng.integer(1, 2)));
  return [budget('budget-0', { app: rng.pick(APPS) }, 0), ...tiers];
}

function someBudget(rng: Rng, name: string, pods: readonly PodCase[]): BudgetCase {
  const namespace = rng.pick(NAMESPACES);
  const [label, value] = rng.pick([
    ['app', rng.pick(APPS)],
    ['tier', rng.pick(TIERS)],
  ] as const);
  const covered = pods.filter((pod) => pod[label] === value && pod.namespace === namespace);
  const disrupted = covered.filter(() => rng.next() < 0.1).map((pod) => pod.name);
  return { name, namespace, selects: { [label]: value }, allowed: rng.integer(0, 2), disrupted };
}
