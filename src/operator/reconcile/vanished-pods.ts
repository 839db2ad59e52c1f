import { type ApiObject, controllerReference } from '../../kube/api/api-object.ts';
import type { Page } from '../../kube/api/kube-api.ts';
import { type Outcome, succeeded } from '../../kube/api/outcome.ts';
import { PODS } from '../../kube/api/resources.ts';
import type { TrainingJob } from '../kinds/kind.ts';
import { jobLabels } from '../kinds/names.ts';
import { isFinished, jobStatusOf } from '../status/job-status.ts';
import type { RunRecord } from '../training-run/record.ts';
import { withAdopted } from './adoption.ts';
import { observePod, type ObservedPod } from './observed-pod.ts';
import { SOUND } from './pod-facts.ts';
import { currentPods, placeKey, wantedPlaces } from './places.ts';
import type { OperatorWorld } from './world.ts';

const PAGE = 500;

/**
 * Whether the record and the pods are of different times: then they must decide nothing. The watch
 * of TrainingRuns may lag behind the one of pods. And after a change of the leader, the watch of
 * pods may not show a pod that the record has seen, and that the API server knows.
 */
export async function isWatchBehind(
  world: OperatorWorld,
  job: TrainingJob,
  { record, pods }: { readonly record: RunRecord; readonly pods: readonly ObservedPod[] },
  signal: AbortSignal,
): Promise<Outcome<boolean>> {
  if (pods.some(({ attempt }) => attempt > record.attempt)) return succeeded(true);
  // The pods of a run that has ended are cleaned up, and decide nothing. The status of its job was
  // written before the end was recorded.
  if (record.endedAt !== null) return succeeded(!isFinished(jobStatusOf(job.object)));
  const shown = currentPods(job, record, pods);
  const vanished = wantedPlaces(job, record)
    .filter(({ replica, index }) => index < (record.seen[replica.role] ?? 0))
    .map(({ replica, index }) => placeKey({ role: replica.role, index }))
    .filter((key) => !shown.has(key) && !record.replacing.some((each) => placeKey(each) === key));
  if (vanished.length === 0) return succeeded(false);
  const stored = await storedPods(world, job, signal);
  if (!stored.ok) return stored;
  const own = stored.value.filter((pod) => controllerReference(pod)?.uid === job.uid);
  const observed = own.flatMap((pod) => observePod(job, pod, () => SOUND) ?? []).map((pod) => withAdopted(record, pod));
  const known = currentPods(job, record, observed);
  return succeeded(vanished.some((key) => known.has(key)));
}

/** The pods with the labels of a job, as the API server has them now. */
export async function storedPods({ api }: OperatorWorld, job: TrainingJob, signal: AbortSignal): Promise<Outcome<readonly ApiObject[]>> {
  const labels = Object.entries(jobLabels(job));
  const labelSelector = labels.map(([label, value]) => `${label}=${value}`).join(',');
  const pods: ApiObject[] = [];
  let continueAt: string | null = null;
  do {
    const page: Outcome<Page> = await api.list(PODS, { namespace: job.namespace, labelSelector, limit: PAGE, continueAt }, { signal });
    if (!page.ok) return page;
    pods.push(...page.value.items);
    ({ continueAt } = page.value);
  } while (continueAt !== null);
  return succeeded(pods);
}
