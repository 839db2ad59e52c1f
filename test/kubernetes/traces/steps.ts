import type { Cluster } from '../cluster/cluster.ts';
import type { ClusterNode } from '../cluster/node.ts';
import { MEMORY_IS_SHORT } from '../scenario/memory-pressure.ts';
import type { History } from './history.ts';
import { factsOfKubectl, runKubectl } from './kubectl.ts';
import type { ManifestObject, NodeDeed, Step } from './scenario.ts';

/** Less free space than the eviction threshold of the spare nodes. */
const FREE_MIB = 150;
const PLURALS: Readonly<Record<string, string>> = {
  Job: 'jobs',
  CronJob: 'cronjobs',
  Pod: 'pods',
  PodDisruptionBudget: 'poddisruptionbudgets',
};

const DEEDS: Readonly<Record<NodeDeed, (node: ClusterNode) => Promise<void>>> = {
  'fill disk': (node) => node.fillDisk(FREE_MIB),
  'announce shutdown': (node) => node.announceShutdown(true),
  'run short of memory': async (node) => {
    await node.stopKubelet();
    node.startKubelet(MEMORY_IS_SHORT);
  },
  'stop kubelet': (node) => node.stopKubelet(),
  'start kubelet': async (node) => node.startKubelet(),
  'lose power': (node) => node.loseEverything(),
};

/** One play at this moment. */
interface Scene {
  readonly cluster: Cluster;
  readonly namespace: string;
  readonly node: ClusterNode | null;
  readonly history: History;
}

export async function createObject({ cluster, namespace }: Pick<Scene, 'cluster' | 'namespace'>, object: ManifestObject): Promise<void> {
  await cluster.api.create(pathOf(namespace, object), object);
}

/** Takes a step; `turn` is its number. */
export async function take(scene: Scene, step: Step, turn: number): Promise<void> {
  const { cluster, namespace } = scene;
  const path = (role: string): string => pathOfRole(scene, role);
  if (step.create !== undefined) await createObject(scene, step.create);
  if (step.delete !== undefined) await cluster.api.remove(`${path(step.delete)}?propagationPolicy=${step.propagation ?? 'Background'}`);
  if (step.patch !== undefined) await cluster.api.patch(path(step.patch.object), step.patch.with);
  if (step.remove !== undefined) await cluster.api.remove(step.remove.path);
  if (step.evict !== undefined) await evict(cluster, path(step.evict), namespace);
  if (step.refusedEviction !== undefined) await beRefused(scene, step.refusedEviction);
  if (step.node !== undefined) await doToNode(scene, step.node);
  if (step.kubectl !== undefined) await type(scene, { ...step, kubectl: step.kubectl }, turn);
}

async function type(scene: Scene, { kubectl: words, input, lines }: Step & Required<Pick<Step, 'kubectl'>>, turn: number): Promise<void> {
  const { cluster, namespace, node, history } = scene;
  const said = await runKubectl(cluster, namespace, { words, input, lines });
  const ownNames = [[namespace, 'namespace'] as const, ...(node === null ? [] : [[node.name, 'node'] as const])];
  history.tell(factsOfKubectl(turn, { words, lines, said, names: [...history.roles.madeUp, ...ownNames] }));
}

async function doToNode({ node }: Scene, deed: NodeDeed): Promise<void> {
  if (node === null) throw new Error(`${deed}: the scenario has no node of its own`);
  await DEEDS[deed](node);
}

async function beRefused(scene: Scene, role: string): Promise<void> {
  const answer = await evict(scene.cluster, pathOfRole(scene, role), scene.namespace).then(
    () => 'granted',
    (thrown: unknown) => String(thrown),
  );
  if (!answer.includes('was answered with 429')) throw new Error(`the eviction of ${role} was to be refused: ${answer}`);
}

async function evict(cluster: Cluster, path: string, namespace: string): Promise<void> {
  const name = path.slice(path.lastIndexOf('/') + 1);
  await cluster.api.create(`${path}/eviction`, { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace } });
}

function pathOfRole({ namespace, history }: Scene, role: string): string {
  const [word] = role.split(' ');
  const kind = { pod: 'Pod', job: 'Job', cronjob: 'CronJob' }[word ?? ''] ?? 'nothing';
  const apiVersion = kind === 'Pod' ? 'v1' : 'batch/v1';
  return `${pathOf(namespace, { apiVersion, kind })}/${history.roles.objectOf(role).metadata.name}`;
}

function pathOf(namespace: string, { apiVersion, kind }: Pick<ManifestObject, 'apiVersion' | 'kind'>): string {
  const plural = PLURALS[kind];
  if (plural === undefined) throw new Error(`no scenario can make a ${kind} yet`);
  return `${apiVersion.includes('/') ? '/apis' : '/api'}/${apiVersion}/namespaces/${namespace}/${plural}`;
}
