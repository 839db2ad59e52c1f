import { selectorText } from '../kinds/names.ts';
import type { TrainingJob } from '../kinds/kind.ts';
import type { ReplicaStatus } from '../status/job-status.ts';
import type { ObservedPod } from './observed-pod.ts';

/**
 * The pods of each role by their state. A pod that runs counts as active until it has ended, also
 * while it is being deleted: Kueue holds the quota for as long.
 */
export function countReplicas(job: TrainingJob, pods: readonly ObservedPod[]): Readonly<Record<string, ReplicaStatus>> {
  return Object.fromEntries(
    job.replicas
      .filter(({ role }) => job.kind.roles.includes(role))
      .map(({ role }) => {
        const own = pods.filter((pod) => pod.role === role);
        const counts = {
          active: own.filter(isActive).length,
          succeeded: own.filter(({ phase }) => phase === 'Succeeded').length,
          failed: own.filter(({ phase }) => phase === 'Failed').length,
        };
        return [role, { ...withoutZeros(counts), ...(job.kind.hasSelector ? { selector: selectorText(job, role) } : {}) }] as const;
      }),
  );
}

/** Adds the pods that still run to those that succeeded: v1 counts so once the job has. */
export function foldActive(statuses: Readonly<Record<string, ReplicaStatus>>): Readonly<Record<string, ReplicaStatus>> {
  return Object.fromEntries(
    Object.entries(statuses).map(([role, { active = 0, succeeded = 0, ...others }]) => [
      role,
      { ...withoutZeros({ succeeded: succeeded + active }), ...others },
    ]),
  );
}

/** A pod that is being deleted on a node may still start a container. */
function isActive({ phase, isTerminating, node }: ObservedPod): boolean {
  return phase === 'Running' || (phase === 'Pending' && isTerminating && node !== null);
}

function withoutZeros(counts: Readonly<Record<string, number>>): ReplicaStatus {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
}
