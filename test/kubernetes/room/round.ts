import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from '../cluster/api.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { PAUSE_IMAGE } from '../cluster/runtime.ts';
import { eventually } from '../cluster/wait.ts';
import { runsOf } from '../scenario/example.ts';
import { PODS } from '../scenario/objects.ts';
import { type Gang, NODE_GPUS, PYTORCH_JOBS, podsOf, startGang, startsOf, stepOf, TRAINING_RUNS } from './gangs.ts';

/** `ordinary`: the scheduler evicts. `room`: the operator asks a gang to save and to leave. */
export type Manner = 'ordinary' | 'room';

/** Three gangs that save at different times, each on a node of its own. */
export const GANGS = [
  { name: 'fresh', node: 'node-1', every: 10 },
  { name: 'middle', node: 'node-2', every: 25 },
  { name: 'stale', node: 'node-3', every: 100_000 },
] as const satisfies readonly Gang[];
/**
 * Then the gang that saves least has this many steps that a kill would lose. After a minute its
 * supervisor would ask for a save.
 */
const STALE_STEPS = 40;
const POD = 'inference';

/** What one arrival of the inference pod did. */
export interface Round {
  readonly manner: Manner;
  /** The gang that started last: of equal priorities, the scheduler evicts the youngest. */
  readonly youngest: string;
  /** The steps that a kill of each gang would have lost when the pod came, as in `GANGS`. */
  readonly unsaved: readonly number[];
  readonly left: readonly string[];
  /** The steps that were trained again. */
  readonly lostSteps: number;
  /** From the creation of the pod until it ran. */
  readonly waitSeconds: number;
  /** What the operator announced, or null. */
  readonly announced: string | null;
}

/** Starts the gangs, lets the inference pod come, and lets what left come back. */
export async function playRound(cluster: Cluster, manner: Manner, youngest: string): Promise<Round> {
  for (const isYoungest of [false, true])
    await Promise.all(GANGS.filter(({ name }) => (name === youngest) === isYoungest).map((gang) => startGang(cluster, gang)));
  await eventually('the gangs to have unsaved work', () => (GANGS.every((gang) => isDue(cluster, gang)) ? true : null));
  const unsaved = GANGS.map((gang) => stepOf(cluster, gang) - newestSave(cluster, gang));
  const startedMs = performance.now();
  await cluster.api.create(PODS, podOf(manner));
  const { spec } = await eventually(`${POD} to run`, async () => {
    const pod = await cluster.api.get(`${PODS}/${POD}`);
    return pod?.status?.phase === 'Running' ? pod : null;
  });
  const waitSeconds = (performance.now() - startedMs) / 1000;
  const left = GANGS.filter(({ node }) => node === spec?.nodeName);
  const lastSteps = left.map((gang) => stepOf(cluster, gang));
  const announced = await announcement(cluster);
  await cluster.api.remove(`${PODS}/${POD}?gracePeriodSeconds=1`);
  const lost = await Promise.all(
    left.map(async (gang, index) => {
      const [, again = 0] = await eventually(`${gang.name} to train again`, () => {
        const starts = startsOf(cluster, gang);
        return starts.length > 1 ? starts : null;
      });
      return (lastSteps[index] ?? 0) + 1 - again;
    }),
  );
  await clear(cluster);
  return {
    manner,
    youngest,
    unsaved,
    left: left.map(({ name }) => name),
    lostSteps: lost.reduce((sum, steps) => sum + steps, 0),
    waitSeconds,
    announced,
  };
}

/** Its first save is sealed, so that the operator knows how long one takes. */
function isDue(cluster: Cluster, gang: Gang): boolean {
  return newestSave(cluster, gang) >= 0 && (gang.name !== 'stale' || stepOf(cluster, gang) - newestSave(cluster, gang) >= STALE_STEPS);
}

/** The step of the newest sealed checkpoint; -1 without one. */
function newestSave(cluster: Cluster, { name }: Gang): number {
  const folder = join(runsOf(cluster), 'holdfast', name);
  const steps = (existsSync(folder) ? readdirSync(folder) : []).flatMap((each) => {
    const [, step] = /^step-(\d+)$/.exec(each) ?? [];
    return step === undefined ? [] : [Number(step)];
  });
  return Math.max(-1, ...steps);
}

function podOf(manner: Manner): unknown {
  const container = {
    name: 'main',
    image: PAUSE_IMAGE,
    imagePullPolicy: 'Never',
    resources: { limits: { 'nvidia.com/gpu': String(NODE_GPUS) } },
  };
  const isAsking = manner === 'room';
  return {
    metadata: { name: POD, annotations: isAsking ? { 'holdfast.dev/make-room': 'true' } : {} },
    spec: { priorityClassName: isAsking ? 'inference-waits' : 'inference', terminationGracePeriodSeconds: 1, containers: [container] },
  };
}

async function announcement(cluster: Cluster): Promise<string | null> {
  const events = (await cluster.api.list('/api/v1/namespaces/default/events')) as unknown as readonly {
    readonly reason: string;
    readonly message: string;
    readonly involvedObject: { readonly name: string };
  }[];
  const made = events.find(({ reason, involvedObject }) => reason === 'MakingRoom' && involvedObject.name === POD);
  return made === undefined ? null : made.message;
}

/** Removes the jobs with all that they left. */
async function clear(cluster: Cluster): Promise<void> {
  for (const { name } of GANGS) await cluster.api.remove(`${PYTORCH_JOBS}/${name}?propagationPolicy=Background`);
  await eventually('the pods to be gone', async () => {
    const left = await Promise.all(GANGS.map((gang): Promise<readonly KubeObject[]> => podsOf(cluster, gang)));
    return left.flat().length === 0 && (await cluster.api.get(`${PODS}/${POD}`)) === null ? true : null;
  });
  for (const { metadata } of await cluster.api.list(TRAINING_RUNS)) await cluster.api.remove(`${TRAINING_RUNS}/${metadata.name}`);
  await cluster.api.remove('/api/v1/namespaces/default/events');
  rmSync(join(runsOf(cluster), 'holdfast'), { recursive: true, force: true });
}
