import { type ApiObject, controllerReference, keyOf, keyText, type ObjectKey } from '../../kube/api/api-object.ts';
import { JOBS } from '../../kube/api/resources.ts';
import { numberAt, textAt } from '../../kube/objects/fields.ts';
import { objectOf } from '../../kube/objects/object.ts';
import { acceleratorsOf } from '../../kube/objects/pod-spec.ts';
import { podOf } from '../../kube/objects/pod.ts';
import { parseJob } from '../kinds/parse-job.ts';
import { type ObservedJob, observedJobOf, whyUnobservable } from '../observed/observed-job.ts';
import { progressKey } from '../observed/reconcile-observed.ts';
import { isSupervisedPod } from '../reconcile/pod-facts.ts';
import { OWNER_INDEX, type OperatorWorld } from '../reconcile/world.ts';
import { parseRecord } from '../training-run/parse-record.ts';
import { currentAttempt, isMakingRoom, type RunRecord } from '../training-run/record.ts';
import { runName } from '../training-run/training-run.ts';
import type { TrainingJob } from '../kinds/kind.ts';
import type { Leaver, Spare } from './choose.ts';
import { acceleratorSecondsLost, type LeavingCost, leavingCostOf } from './leaving-cost.ts';
import { spareOf } from './spare.ts';

/** A gang that may leave, with its measurements. */
export interface CostedLeaver extends Leaver {
  readonly measured: LeavingCost;
  /** The longest grace of its pods. */
  readonly graceSeconds: number;
}

const KUEUE = 'kueue.x-k8s.io/';
const DEFAULT_GRACE = 30;
/** A gang that stayed, for example because a budget refused its eviction, is not asked so soon. */
const REFUSED_MS = 10 * 60_000;

/**
 * The gangs that may be asked to leave: they run, a supervisor saves for them, Kueue does not
 * manage them, and they have run for their `min-runtime`. A gang that left for this pod in vain is
 * not asked again. Of the Jobs of Kubernetes, those that may be suspended.
 */
export function findLeavers(world: OperatorWorld, podUid: string, deadlineMs: number): readonly CostedLeaver[] {
  const { stores } = world;
  const jobs = [...stores.jobs].flatMap(([kind, store]) =>
    [...store.all()].flatMap((object) => gangOf(world, parseJob(kind, object), podUid) ?? []),
  );
  const observed = [...stores.observed.all()].flatMap((object) => suspendableOf(world, object, podUid) ?? []);
  const found = [...jobs, ...observed];
  const costs = found.map(({ measured }) => measured);
  return found.map((leaver) => ({ ...leaver, cost: acceleratorSecondsLost(leaver.measured, deadlineMs, costs) }));
}

type Uncosted = Omit<CostedLeaver, 'cost'>;

function gangOf(world: OperatorWorld, job: TrainingJob, podUid: string): Uncosted | null {
  const { stores, clock } = world;
  const run = { namespace: job.namespace, name: runName(job) };
  const record = parseRecord(stores.runs.get(run)?.['status']);
  const pods = stores.pods.by(OWNER_INDEX, job.uid);
  if (record === null || !mayBeAsked(record, job.choices, podUid, clock.now())) return null;
  if (isManagedByKueue([job.object, ...pods], job.run.managedBy)) return null;
  const title = `${job.kind.resource.kind} ${job.namespace}/${job.name}`;
  const spare = spareOf(job, record, pods);
  return leaverOf({ run, title, record, pods: pods.filter(isPlaced), container: job.kind.container, spare }, clock.now());
}

/**
 * A Job that the operator may suspend. It leaves only after a save, so that its saves must be
 * reported; and it has no other controller that would resume it.
 */
function suspendableOf(world: OperatorWorld, object: ApiObject, podUid: string): Uncosted | null {
  const { stores, clock } = world;
  const job = observedJobOf(object);
  const { namespace, name, uid, container } = job;
  if (!maySuspend(job)) return null;
  const run = { namespace, name: runName(job) };
  const record = parseRecord(stores.runs.get(run)?.['status']);
  if (record === null || !mayBeAsked(record, job.choices, podUid, clock.now())) return null;
  if (world.progressOf(progressKey(job, null), record.attempt) === null) return null;
  const pods = stores.pods.by(OWNER_INDEX, uid);
  if (isManagedByKueue([object, ...pods], null)) return null;
  const placed = pods.filter((pod) => isPlaced(pod) && !isOver(pod));
  return leaverOf({ run, title: `${JOBS.kind} ${namespace}/${name}`, record, pods: placed, container, spare: null }, clock.now());
}

/** Whether the operator may suspend the Job, and nothing but it would resume the Job. */
function maySuspend(job: ObservedJob): boolean {
  if (!job.choices.maySuspend || job.isSuspended || job.ended !== null) return false;
  if (job.hasOwnIndexes || whyUnobservable(job) !== null) return false;
  const owner = controllerReference(job.object);
  const manager = textAt(job.object, 'spec', 'managedBy') ?? JOB_CONTROLLER;
  return manager === JOB_CONTROLLER && (owner === null || owner.kind === 'CronJob');
}

const JOB_CONTROLLER = 'kubernetes.io/job-controller';

interface Found {
  readonly run: ObjectKey;
  readonly title: string;
  readonly record: RunRecord;
  readonly pods: readonly ApiObject[];
  readonly container: string;
  readonly spare: Spare | null;
}

function leaverOf({ run, title, record, pods, container, spare }: Found, nowMs: number): Uncosted | null {
  if (pods.length === 0 || !pods.every((pod) => isSupervisedPod(container, pod))) return null;
  const accelerators = pods.reduce((sum, pod) => sum + acceleratorsIn(pod), 0);
  return {
    run: keyText(run),
    title,
    priority: Math.max(...pods.map((pod) => numberAt(pod, 'spec', 'priority') ?? 0)),
    pods: pods.map((pod) => keyText(keyOf(pod))),
    spare,
    graceSeconds: Math.max(...pods.map((pod) => numberAt(pod, 'spec', 'terminationGracePeriodSeconds') ?? DEFAULT_GRACE)),
    measured: leavingCostOf(record, accelerators, nowMs),
  };
}

function mayBeAsked(record: RunRecord, { minRuntimeMs }: { readonly minRuntimeMs: number }, podUid: string, nowMs: number): boolean {
  if (record.phase !== 'Running' || isMakingRoom(record)) return false;
  const { room } = record;
  if (room?.stage === 'back' && room.podUid === podUid) return false;
  if (room?.stage === 'refused' && nowMs - Date.parse(room.askedAt) < REFUSED_MS) return false;
  const { startedAt } = currentAttempt(record);
  return startedAt !== null && nowMs - Date.parse(startedAt) >= minRuntimeMs;
}

function isPlaced(pod: ApiObject): boolean {
  return textAt(pod, 'spec', 'nodeName') !== null;
}

function isOver(pod: ApiObject): boolean {
  const phase = textAt(pod, 'status', 'phase');
  return phase === 'Succeeded' || phase === 'Failed';
}

function acceleratorsIn(pod: ApiObject): number {
  const read = objectOf(pod);
  return read === null ? 0 : acceleratorsOf(podOf(read).spec);
}

/** Kueue decides itself which of its workloads leave. */
function isManagedByKueue(objects: readonly ApiObject[], manager: string | null): boolean {
  const marked = objects.some(({ metadata }) => Object.keys(metadata.labels ?? {}).some((name) => name.startsWith(KUEUE)));
  return marked || manager?.startsWith(KUEUE) === true;
}
