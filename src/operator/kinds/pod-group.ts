import type { NewObject } from '../../kube/api/api-object.ts';
import { at, fieldsOf, listAt, numberAt, textAt } from '../../kube/objects/fields.ts';
import { parseQuantity } from '../../kube/objects/quantity.ts';
import type { TrainingJob } from './kind.ts';
import { totalReplicas } from './parse-job.ts';
import { ownerOf } from './pod.ts';

/** The PodGroup of a job for Volcano, or else for scheduler-plugins. */
export function podGroupFor(job: TrainingJob, gangScheduler: string): NewObject {
  const { scheduling } = job.run;
  const minMember = numberAt(scheduling, 'minAvailable') ?? totalReplicas(job);
  const given = scheduling['minResources'];
  const minResources = given === undefined || given === null ? smallestResources(job, minMember) : fieldsOf(given);
  const annotations = job.object.metadata.annotations;
  const metadata = {
    name: job.name,
    namespace: job.namespace,
    ...(annotations === undefined ? {} : { annotations }),
    ownerReferences: [ownerOf(job)],
  };
  if (gangScheduler !== 'volcano') {
    const timeout = numberAt(scheduling, 'scheduleTimeoutSeconds');
    return {
      apiVersion: 'scheduling.x-k8s.io/v1alpha1',
      kind: 'PodGroup',
      metadata,
      spec: { minMember, minResources, ...(timeout === null ? {} : { scheduleTimeoutSeconds: timeout }) },
    };
  }
  const priorityClassName = textAt(scheduling, 'priorityClass');
  return {
    apiVersion: 'scheduling.volcano.sh/v1beta1',
    kind: 'PodGroup',
    metadata,
    spec: {
      minMember,
      queue: textAt(scheduling, 'queue') ?? 'default',
      ...(priorityClassName === null ? {} : { priorityClassName }),
      minResources,
    },
  };
}

/**
 * The requests of the first pods, in the order of the roles. A container without requests counts
 * with its limits.
 */
function smallestResources(job: TrainingJob, minMember: number): Readonly<Record<string, string>> {
  const sums = new Map<string, number>();
  let left = minMember;
  for (const { count, template } of job.replicas) {
    const pods = Math.min(left, count);
    left -= pods;
    for (const container of listAt(template, 'spec', 'containers')) {
      const requests = at(container, 'resources', 'requests') ?? at(container, 'resources', 'limits');
      for (const [name, quantity] of Object.entries(fieldsOf(requests))) {
        sums.set(name, (sums.get(name) ?? 0) + pods * (parseQuantity(quantity) ?? 0));
      }
    }
  }
  return Object.fromEntries([...sums].filter(([, sum]) => sum > 0).map(([name, sum]) => [name, quantityText(sum)]));
}

/** Whole units where they are whole, else thousandths, rounded up as Kubernetes does. */
function quantityText(value: number): string {
  return Number.isInteger(value) ? String(value) : `${Math.ceil(Number((value * 1000).toFixed(6)))}m`;
}
