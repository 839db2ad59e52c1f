import { actionFor } from '../../domain/gang/end-action.ts';
import { type RestartMode, restartModeOf } from '../../domain/gang/restart-mode.ts';
import { type Outcome, succeeded } from '../../kube/api/outcome.ts';
import { CLAIMS } from '../../kube/api/resources.ts';
import { textsAt } from '../../kube/objects/fields.ts';
import type { TrainingJob } from '../kinds/kind.ts';
import { cloudOf } from '../kinds/clouds.ts';
import { replicaOf } from '../kinds/parse-job.ts';
import type { RunRecord } from '../training-run/record.ts';
import { areLossesReal } from './confirm-losses.ts';
import type { Facts } from './draft.ts';
import { withAdopted } from './adoption.ts';
import { inParallel } from './in-parallel.ts';
import { nodeStates, placeOf } from './node-state.ts';
import { observePod, type ObservedPod } from './observed-pod.ts';
import { readLogTail } from './read-log-tail.ts';
import { readHeard } from './silent-nodes.ts';
import { isWatchBehind } from './vanished-pods.ts';
import { podsOfJob, readRoom } from './room-facts.ts';
import { OWNER_INDEX, type OperatorWorld } from './world.ts';

const ONE_NODE_MODES: ReadonlySet<string> = new Set(['ReadWriteOnce', 'ReadWriteOncePod']);
/** One failed pod in a pass says what happened; its peers mostly say that they lost it. */
const MOST_LOGS = 4;

/** The pods of a job, as the watch last saw them. */
async function podsOf(world: OperatorWorld, job: TrainingJob, signal: AbortSignal): Promise<Outcome<readonly ObservedPod[]>> {
  const objects = world.stores.pods.by(OWNER_INDEX, job.uid);
  const states = await nodeStates(world, objects, signal);
  if (!states.ok) return states;
  const pods = objects.flatMap((object) => observePod(job, object, () => states.value(object)) ?? []);
  return succeeded(pods.toSorted((a, b) => (a.role === b.role ? a.index - b.index : a.role < b.role ? -1 : 1)));
}

/**
 * Everything that the decisions about a job depend on. Reads logs of pods that failed just now. A
 * failure: the API server does not say whether a node or a pod is lost. Null: a watch is behind.
 */
export async function observe(
  world: OperatorWorld,
  job: TrainingJob,
  record: RunRecord,
  signal: AbortSignal,
): Promise<Outcome<Facts | null>> {
  const observed = await podsOf(world, job, signal);
  if (!observed.ok) return observed;
  const pods = observed.value.map((pod) => withAdopted(record, pod));
  const behind = await isWatchBehind(world, job, { record, pods }, signal);
  if (!behind.ok) return behind;
  if (behind.value) return succeeded(null);
  const facts = await factsOf(world, job, { record, pods }, signal);
  const real = await areLossesReal(world, facts, record, signal);
  if (!real.ok) return real;
  if (!real.value) return succeeded(null);
  const heard = await readHeard(world, facts, record, signal);
  return heard.ok ? succeeded({ ...facts, heardMs: heard.value }) : heard;
}

async function factsOf(
  world: OperatorWorld,
  job: TrainingJob,
  { record, pods }: { readonly record: RunRecord; readonly pods: readonly ObservedPod[] },
  signal: AbortSignal,
): Promise<Facts> {
  return {
    nowMs: world.clock.now(),
    job,
    mode: modeOf(job),
    pods,
    services: world.stores.services.by(OWNER_INDEX, job.uid).map(({ metadata }) => metadata.name),
    settings: world.settings,
    logs: await readLogs(world, job, failedPods(job, record, pods), signal),
    progress: world.progressOf(job.uid, record.attempt),
    heardMs: new Map(),
    placeOf: (node) => placeOf(world.stores.nodes.get({ namespace: null, name: node })),
    cloud: job.choices.prefersSpot ? (world.cloud ?? cloudOf(world.stores.nodes.all())) : null,
    singleNodeClaims: await readClaims(world, job, pods, signal),
    trouble: world.troubles.get(job.uid) ?? null,
    room: await readRoom(world, record, () => podsOfJob(world, job, record), signal),
  };
}

/** What restarts when a pod of the job is lost. */
export function modeOf(job: TrainingJob): RestartMode {
  return restartModeOf({
    isElastic: job.elastic !== null,
    hasDynamicWorkers: job.hasDynamicWorkers,
    hasParameterServers: job.replicas.some(({ role }) => job.kind.serverRoles.includes(role)),
    chosen: job.choices.restart,
  });
}

/** The pods of the current attempt that ended with an error which nobody has recorded yet. */
function failedPods(job: TrainingJob, record: RunRecord, pods: readonly ObservedPod[]): readonly ObservedPod[] {
  if (record.endedAt !== null) return [];
  return pods
    .filter(({ attempt, role, end, uid }) => {
      const policy = replicaOf(job, role)?.policy;
      const action = policy === undefined ? 'stay' : actionFor(policy, end.class);
      const isError = action !== 'stay' && action !== 'succeed' && action !== 'restart';
      return attempt === record.attempt && isError && !record.replacing.some((each) => each.uid === uid);
    })
    .toSorted((a, b) => (a.ended?.finishedMs ?? Infinity) - (b.ended?.finishedMs ?? Infinity))
    .slice(0, MOST_LOGS);
}

/**
 * The claims of pods on lost nodes whose volume can be on one node only. One that cannot be read is
 * left out.
 */
async function readClaims(
  world: OperatorWorld,
  { namespace }: TrainingJob,
  pods: readonly ObservedPod[],
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const names = new Set(pods.filter(({ nodeLostMs }) => nodeLostMs !== null).flatMap(({ claims }) => claims));
  const single = await inParallel([...names], async (name) => {
    const claim = await world.api.get(CLAIMS, { namespace, name }, { signal });
    return claim.ok && textsAt(claim.value, 'spec', 'accessModes').every((mode) => ONE_NODE_MODES.has(mode)) ? [name] : [];
  });
  return new Set(single.flat());
}

async function readLogs(
  world: OperatorWorld,
  job: TrainingJob,
  pods: readonly ObservedPod[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string | null>> {
  const { namespace, kind } = job;
  return new Map(await Promise.all(pods.map(({ name }) => readLogTail(world, { namespace, name, container: kind.container }, signal))));
}
