import { createRng, type Rng } from '../../../src/core/rng.ts';
import { PAUSE_IMAGE } from '../cluster/runtime.ts';

/** Where the pods that run live, and the pods of the question. */
export const [RUNNING, ASKED] = ['ml', 'web'] as const;
const GPU = 'nvidia.com/gpu';
export const NODE_COUNT = 4;
/** The small clusters of the recorded page. */
export const SEEDS: readonly number[] = Array.from({ length: 30 }, (_, index) => index + 1);
/** So many owners of pods are tried for a wave. */
const MOST_OWNERS = 20;

/** The classes of all small clusters: name, value, and whether its pods evict others. */
export const CLASSES = [
  ['spare', -10, 'PreemptLowerPriority'],
  ['sweep', 5, 'PreemptLowerPriority'],
  ['train', 50, 'PreemptLowerPriority'],
  ['serve', 500, 'PreemptLowerPriority'],
  ['inference', 1000, 'PreemptLowerPriority'],
  ['inference-waits', 1000, 'Never'],
] as const;

interface NodeSetting {
  readonly name: string;
  readonly gpus: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly { readonly key: string; readonly effect: string }[];
  readonly unschedulable: boolean;
}

/** A small cluster, and the manifests that `whatif apply` is asked about. */
export interface SmallCluster {
  readonly seed: number;
  readonly nodes: readonly NodeSetting[];
  /** Each list is created when all pods of the one before have settled. */
  readonly waves: readonly (readonly Manifest[])[];
  readonly question: Manifest;
  /** How many pods the question makes. */
  readonly asked: number;
}

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec: unknown;
}

/** Draws a small cluster: the same seed draws the same one. */
export function drawSmallCluster(seed: number): SmallCluster {
  const rng = createRng(seed);
  const used = rng.integer(2, NODE_COUNT);
  const nodes = Array.from({ length: NODE_COUNT }, (_, index) => drawNode(rng, index, index < used));
  const asked = rng.pick([1, 1, 1, 2, 3]);
  const room = nodes.reduce((sum, { gpus, unschedulable }) => sum + (unschedulable ? 0 : gpus), 0);
  const waves = [0.6, 0.5].map((share, wave) => drawWave(rng.fork(`wave ${wave}`), `w${wave}`, room * share, asked === 1));
  return { seed, nodes, waves, question: drawQuestion(rng.fork('question'), asked), asked };
}

function drawNode(rng: Rng, index: number, isOpen: boolean): NodeSetting {
  const isSpot = rng.next() < 0.15;
  return {
    name: `node-${index + 1}`,
    gpus: rng.pick([2, 4, 4, 8]),
    labels: { pool: rng.pick(['a', 'b']) },
    taints: isSpot ? [{ key: 'holdfast.test/spot', effect: 'NoSchedule' }] : [],
    unschedulable: !isOpen,
  };
}

function drawWave(rng: Rng, prefix: string, gpus: number, mayHaveBudgets: boolean): readonly Manifest[] {
  const found: Manifest[] = [];
  let left = gpus;
  for (let index = 0; left >= 1 && index < MOST_OWNERS; index++) {
    const name = `${prefix}-${index}`;
    const [kind, count, each] = [rng.pick(['Pod', 'Pod', 'Deployment', 'Job'] as const), rng.integer(1, 3), rng.pick([1, 1, 2, 4])];
    const replicas = kind === 'Pod' ? 1 : count;
    if (replicas * each > left) continue;
    left -= replicas * each;
    const className = rng.pick(['spare', 'sweep', 'train', 'train', 'serve', null]);
    const template = podOf({ rng, name, gpus: each, className, tolerates: rng.next() < 0.5 });
    found.push(ownerOf({ kind, name, namespace: RUNNING, replicas, template }));
    if (mayHaveBudgets && kind === 'Deployment' && rng.next() < 0.4)
      found.push({
        apiVersion: 'policy/v1',
        kind: 'PodDisruptionBudget',
        metadata: { name, namespace: RUNNING },
        spec: { maxUnavailable: rng.integer(0, 1), selector: { matchLabels: { app: name } } },
      });
  }
  return found;
}

function drawQuestion(rng: Rng, asked: number): Manifest {
  const kind = asked === 1 ? rng.pick(['Pod', 'Deployment'] as const) : rng.pick(['Deployment', 'Job'] as const);
  const className = rng.pick(['inference', 'inference', 'inference', 'inference', 'serve', 'inference-waits']);
  const template = podOf({ rng, name: 'asked', gpus: rng.pick([1, 2, 2, 4]), className, tolerates: rng.next() < 0.5 });
  const selected = rng.next() < 0.25 ? { nodeSelector: { pool: rng.pick(['a', 'b']) } } : {};
  const apart = { labelSelector: { matchLabels: { app: 'asked' } }, topologyKey: 'kubernetes.io/hostname' };
  const spread = rng.next() < 0.25 ? { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [apart] } } } : {};
  const spec = { ...template.spec, ...selected, ...spread };
  return ownerOf({ kind, name: 'asked', namespace: ASKED, replicas: asked, template: { ...template, spec } });
}

interface PodWish {
  readonly rng: Rng;
  readonly name: string;
  readonly gpus: number;
  readonly className: string | null;
  readonly tolerates: boolean;
}

interface Template {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: Readonly<Record<string, unknown>>;
}

function podOf({ rng, name, gpus, className, tolerates }: PodWish): Template {
  const container = {
    name: 'main',
    image: PAUSE_IMAGE,
    imagePullPolicy: 'Never',
    resources: { requests: { cpu: '1m' }, limits: { [GPU]: String(gpus) } },
  };
  return {
    metadata: { labels: { app: name } },
    spec: {
      ...(className === null ? {} : { priorityClassName: className }),
      ...(tolerates ? { tolerations: [{ key: 'holdfast.test/spot', operator: 'Exists' }] } : {}),
      terminationGracePeriodSeconds: rng.integer(1, 60),
      containers: [container],
    },
  };
}

interface Owner {
  readonly kind: 'Pod' | 'Deployment' | 'Job';
  readonly name: string;
  readonly namespace: string;
  readonly replicas: number;
  readonly template: Template;
}

function ownerOf({ kind, name, namespace, replicas, template }: Owner): Manifest {
  const metadata = { name, namespace };
  switch (kind) {
    case 'Pod':
      return { apiVersion: 'v1', kind, metadata: { ...metadata, ...template.metadata }, spec: template.spec };
    case 'Deployment':
      return { apiVersion: 'apps/v1', kind, metadata, spec: { replicas, selector: { matchLabels: { app: name } }, template } };
    case 'Job': {
      const pod = { ...template, spec: { ...template.spec, restartPolicy: 'Never' } };
      return {
        apiVersion: 'batch/v1',
        kind,
        metadata,
        spec: { completionMode: 'Indexed', completions: replicas, parallelism: replicas, template: pod },
      };
    }
  }
}
