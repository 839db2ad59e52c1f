import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Cluster } from '../cluster/cluster.ts';
import { PAUSE_IMAGE } from '../cluster/runtime.ts';
import { eventually } from '../cluster/wait.ts';
import { runsOf } from '../scenario/example.ts';
import { cordon, PODS } from '../scenario/objects.ts';
import {
  type Gang,
  NODE_GPUS,
  PYTORCH_JOBS,
  podsOf,
  startGang,
  startsOf,
  STEP_SECONDS,
  stepOf,
  TRAINING_RUNS,
  unsavedOf,
} from './gangs.ts';
import type { Play } from './plays.ts';

/** `ordinary`: the scheduler evicts. `room`: the operator asks a gang to save and to leave. */
export type Manner = 'ordinary' | 'room';

const POD = 'inference';

/** What one arrival of the inference pod did. */
export interface Round {
  readonly manner: Manner;
  /** The steps that a kill of each gang would have lost when the pod came, as in the play. */
  readonly unsaved: readonly number[];
  readonly left: string;
  /** The steps that were trained again. */
  readonly lostSteps: number;
  readonly lostGpuSeconds: number;
  /** From the creation of the pod until it ran. */
  readonly waitSeconds: number;
  /** What the operator announced, or null. */
  readonly announced: string | null;
}

/** Starts the gangs, lets the inference pod come, and lets what left come back. */
export async function playRound(cluster: Cluster, { gangs }: Play, manner: Manner, environment: string): Promise<Round> {
  const used = new Set(gangs.flatMap(({ nodes }) => nodes));
  for (const { name } of cluster.nodes) await cordon(cluster, name, !used.has(name));
  await Promise.all(gangs.slice(0, -1).map((gang) => startGang(cluster, gang, environment)));
  await Promise.all(gangs.slice(-1).map((gang) => startGang(cluster, gang, environment)));
  const unsaved = await eventually('the gangs to have unsaved work', () => unsavedOfAll(cluster, gangs));
  const startedMs = performance.now();
  await cluster.api.create(PODS, podOf(manner));
  const { spec } = await eventually(`${POD} to run`, async () => {
    const pod = await cluster.api.get(`${PODS}/${POD}`);
    return pod?.status?.phase === 'Running' ? pod : null;
  });
  const waitSeconds = (performance.now() - startedMs) / 1000;
  const left = gangs.find(({ nodes }) => nodes.some((node) => node === spec?.nodeName));
  if (left === undefined) throw new Error(`${POD} runs on ${String(spec?.nodeName)}, which no gang had`);
  const lastStep = stepOf(cluster, left);
  const announced = await announcement(cluster);
  await cluster.api.remove(`${PODS}/${POD}?gracePeriodSeconds=1`);
  const again = await eventually(`${left.name} to train again`, () => startsOf(cluster, left)[1] ?? null);
  await clear(cluster, gangs);
  const lostSteps = lastStep + 1 - again;
  const lostGpuSeconds = lostSteps * STEP_SECONDS * NODE_GPUS * left.nodes.length;
  return { manner, unsaved, left: left.name, lostSteps, lostGpuSeconds, waitSeconds, announced };
}

/** The unsaved steps of each gang, once each has as many as it should. */
function unsavedOfAll(cluster: Cluster, gangs: readonly Gang[]): readonly number[] | null {
  const found = gangs.flatMap((gang) => {
    const unsaved = unsavedOf(cluster, gang);
    return unsaved === null || unsaved < gang.leastUnsaved ? [] : [unsaved];
  });
  return found.length === gangs.length ? found : null;
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
async function clear(cluster: Cluster, gangs: readonly Gang[]): Promise<void> {
  for (const { name } of gangs) await cluster.api.remove(`${PYTORCH_JOBS}/${name}?propagationPolicy=Background`);
  await eventually('the pods to be gone', async () => {
    const left = await Promise.all(gangs.map((gang) => podsOf(cluster, gang)));
    return left.flat().length === 0 && (await cluster.api.get(`${PODS}/${POD}`)) === null ? true : null;
  });
  for (const { metadata } of await cluster.api.list(TRAINING_RUNS)) await cluster.api.remove(`${TRAINING_RUNS}/${metadata.name}`);
  await cluster.api.remove('/api/v1/namespaces/default/events');
  rmSync(join(runsOf(cluster), 'holdfast'), { recursive: true, force: true });
}
