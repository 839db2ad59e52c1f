import type { NewObject } from '../../kube/api/api-object.ts';
import type { Place, TrainingJob } from './kind.ts';
import { replicaLabels, replicaName } from './names.ts';
import { ownerOf, trainingPorts } from './pod.ts';

/** The headless Service that gives the pod at a place its name. */
export function serviceFor(job: TrainingJob, place: Place): NewObject {
  const { role } = place.replica;
  const labels = replicaLabels(job, role, place.index);
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: replicaName(job, role, place.index), namespace: job.namespace, labels, ownerReferences: [ownerOf(job)] },
    spec: { clusterIP: 'None', selector: labels, ports: trainingPorts(job, place) },
  };
}
