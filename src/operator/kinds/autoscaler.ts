import type { NewObject } from '../../kube/api/api-object.ts';
import { apiVersionOf } from '../../kube/api/resource.ts';
import type { TrainingJob } from './kind.ts';
import { ownerOf } from './pod.ts';

/** The HorizontalPodAutoscaler of an elastic job with metrics; null: it has none. */
export function autoscalerFor(job: TrainingJob): NewObject | null {
  const { elastic, kind, name, namespace } = job;
  if (elastic === null || elastic.metrics === null) return null;
  return {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name, namespace, ownerReferences: [ownerOf(job)] },
    spec: {
      scaleTargetRef: { kind: kind.resource.kind, name, apiVersion: apiVersionOf(kind.resource) },
      minReplicas: elastic.min,
      maxReplicas: elastic.max,
      metrics: elastic.metrics,
    },
  };
}
