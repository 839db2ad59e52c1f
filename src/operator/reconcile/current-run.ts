import type { ApiObject } from '../../kube/api/api-object.ts';
import { keyOf } from '../../kube/api/api-object.ts';
import type { Failure } from '../../kube/api/outcome.ts';
import { TRAINING_RUNS } from '../training-run/training-run.ts';
import type { OperatorWorld } from './world.ts';

/** Another operator, or a later pass, has moved the run on. */
export const MOVED: Failure = { ok: false, kind: 'conflict', message: 'the TrainingRun has changed', status: null, retryAfterMs: null };

/** Whether the TrainingRun is the one that the API server has now. */
export async function isCurrentRun({ api }: OperatorWorld, run: ApiObject, signal: AbortSignal): Promise<boolean> {
  const stored = await api.get(TRAINING_RUNS, keyOf(run), { signal });
  const { resourceVersion, uid } = run.metadata;
  return stored.ok && stored.value.metadata.resourceVersion === resourceVersion && stored.value.metadata.uid === uid;
}
