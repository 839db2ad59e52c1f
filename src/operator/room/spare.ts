import { type ApiObject, keyOf, keyText } from '../../kube/api/api-object.ts';
import { textAt } from '../../kube/objects/fields.ts';
import type { TrainingJob } from '../kinds/kind.ts';
import { modeOf } from '../reconcile/observe.ts';
import { observePod } from '../reconcile/observed-pod.ts';
import { SOUND } from '../reconcile/pod-facts.ts';
import { isRendezvousHost } from '../reconcile/loss.ts';
import type { RunRecord } from '../training-run/record.ts';
import type { Spare } from './choose.ts';

/**
 * The workers that an elastic gang can give up and train on, the last ones first; null: none. The
 * worker at which the others meet stays, and so do as many as the elastic minimum.
 */
export function spareOf(job: TrainingJob, record: RunRecord, objects: readonly ApiObject[]): Spare | null {
  const worker = job.replicas.find(({ role }) => role === 'Worker');
  if (job.elastic === null || worker === undefined || modeOf(job) !== 'replica' || record.replacing.length > 0) return null;
  const running = objects.flatMap((object) => {
    const pod = observePod(job, object, () => SOUND);
    const isRunning = pod !== null && pod.phase === 'Running' && !pod.isTerminating && pod.end.class === 'running';
    return isRunning && pod.role === 'Worker' && pod.attempt === record.attempt ? [{ pod, object }] : [];
  });
  const count = running.length - job.elastic.min;
  const pods = running
    .filter(
      ({ pod, object }) => !isRendezvousHost(job, { replica: worker, index: pod.index }) && textAt(object, 'spec', 'nodeName') !== null,
    )
    .toSorted((a, b) => b.pod.index - a.pod.index)
    .map(({ object }) => keyText(keyOf(object)));
  return count <= 0 || pods.length === 0 ? null : { pods, count };
}
