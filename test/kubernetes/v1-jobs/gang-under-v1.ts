import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pass } from 'node:timers/promises';
import type { KubeObject } from '../cluster/api.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { eventually } from '../cluster/wait.ts';
import { declaredLostMs, GANG_JOBS, type GangCause, ordersOf, podOfRole, type Role, type Struck } from '../scenario/gang-causes.ts';
import type { GangManifest } from '../scenario/torch-gang.ts';
import { PODS, trueConditions } from '../scenario/objects.ts';
import { type Fate, fateOf, hasChanged, ROLES, type Seen, type SeenPod, storyOf } from './fate.ts';

/** What became of a gang under v1, as the table has it. */
export interface V1Row {
  readonly title: string;
  readonly fate: Fate;
  readonly stories: Readonly<Record<Role, string>>;
  /** From the first sign, or the declared loss of a node, until that was clear. */
  readonly seconds: number;
  /** What became of it once the disturbance was over; null: that was not waited for. */
  readonly afterwards: Fate | null;
}

const LOOK_MS = 1000;
const PATIENCE_MS = 10 * 60_000;

/** Lets a cause strike a new gang, and watches it. The gang is gone afterwards. */
export async function playUnderV1(cluster: Cluster, cause: GangCause, manifest: GangManifest): Promise<V1Row> {
  const job = manifest.metadata.name;
  mkdirSync(ordersOf(cluster, job));
  await cluster.api.create(GANG_JOBS, manifest);
  const isStepping = async (): Promise<Seen | null> => {
    const seen = await look(cluster, job);
    return ROLES.every((role) => seen.steppedMs[role] !== null) ? seen : null;
  };
  const before = await eventually(`${job} to train`, isStepping, { patienceMs: PATIENCE_MS });
  const pod = podOfRole(job, cause.victim);
  const node = String((await cluster.api.get(`${PODS}/${pod}`))?.spec?.nodeName);
  const struck = { cluster, job, victim: cause.victim, pod, node };
  let isRelieved = false;
  try {
    const first = await follow(struck, before, () => cause.interrupt(struck));
    const hangs = first.fate === 'hangs' || first.fate === 'trains on';
    const relieve = hangs ? cause.relieve : undefined;
    isRelieved = relieve !== undefined;
    const second = relieve === undefined ? null : await follow(struck, before, () => relieve(struck));
    return { title: cause.title, ...first, afterwards: second?.fate ?? null };
  } finally {
    await remove(cluster, job);
    if (!isRelieved) await cause.relieve?.(struck);
  }
}

/** Watches the gang while something happens, and afterwards until its fate is clear. */
async function follow(
  { cluster, job, node }: Struck,
  before: Seen,
  happens: () => Promise<void>,
): Promise<Pick<V1Row, 'fate' | 'stories' | 'seconds'>> {
  const beganMs = Date.now();
  let endedMs: number | null = null;
  const happening = happens().then(() => (endedMs = Date.now()));
  // Awaited below; it may fail before.
  happening.catch(() => undefined);
  let last = before;
  let [noticedMs, changedMs]: [number | null, number] = [null, beganMs];
  let lostMs: number | null = null;
  for (;;) {
    const now = await look(cluster, job);
    if (hasChanged(last, now)) changedMs = now.ms;
    if (hasChanged(before, now)) noticedMs ??= now.ms;
    lostMs ??= await declaredLostMs(cluster, node);
    last = now;
    const quietMs = endedMs === null ? 0 : now.ms - Math.max(changedMs, endedMs);
    const fate = endedMs === null ? null : fateOf(before, now, { quietMs, sinceMs: now.ms - endedMs });
    if (fate !== null) {
      const stories = { master: storyOf(before.pods.master, now.pods.master), worker: storyOf(before.pods.worker, now.pods.worker) };
      await happening;
      return { fate, stories, seconds: Math.round((now.ms - (lostMs ?? noticedMs ?? beganMs)) / 1000) };
    }
    await Promise.race([pass(LOOK_MS), ...(endedMs === null ? [happening] : [])]);
  }
}

async function look(cluster: Cluster, job: string): Promise<Seen> {
  const [object, ...pods] = await Promise.all([
    cluster.api.get(`${GANG_JOBS}/${job}`),
    ...ROLES.map((role) => cluster.api.get(`${PODS}/${podOfRole(job, role)}`)),
  ]);
  const [master = null, worker = null] = pods.map(podSeen);
  const stepped = (rank: number): number | null => modifiedMs(join(ordersOf(cluster, job), `stepped-${rank}`));
  return {
    ms: Date.now(),
    conditions: trueConditions(object).map(({ type }) => type),
    pods: { master, worker },
    steppedMs: { master: stepped(0), worker: stepped(1) },
  };
}

function podSeen(pod: KubeObject | null): SeenPod | null {
  if (pod === null) return null;
  const statuses = (pod.status?.containerStatuses ?? []) as readonly { readonly name: string; readonly restartCount: number }[];
  return {
    uid: pod.metadata.uid,
    phase: String(pod.status?.phase),
    isTerminating: pod.metadata.deletionTimestamp !== undefined,
    restarts: statuses.find(({ name }) => name === 'pytorch')?.restartCount ?? 0,
  };
}

function modifiedMs(path: string): number | null {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? null;
}

async function remove(cluster: Cluster, job: string): Promise<void> {
  await cluster.api.remove(`${GANG_JOBS}/${job}`);
  const pods = async (): Promise<readonly KubeObject[]> => cluster.api.list(`${PODS}?labelSelector=training.kubeflow.org/job-name=${job}`);
  await eventually(`the pods of ${job} to go`, async () => {
    const left = await pods();
    for (const { metadata } of left) await cluster.api.remove(`${PODS}/${metadata.name}?gracePeriodSeconds=0`);
    return left.length === 0 ? true : null;
  });
}
