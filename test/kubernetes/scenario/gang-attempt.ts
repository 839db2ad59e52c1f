import type { KubeObject } from '../cluster/api.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { eventually } from '../cluster/wait.ts';
import { podOfRole } from './gang-causes.ts';
import { PODS } from './objects.ts';

/** Two ranks that wait for each other at every step are slow on a busy machine. */
export const GANG_PATIENCE_MS = 10 * 60_000;
/** The records of runs. */
export const RUNS = '/apis/holdfast.dev/v1alpha1/namespaces/default/trainingruns';
const ROLES = ['master', 'worker'] as const;

/** The record of a job; null: there is none yet. */
export async function runOf(cluster: Cluster, job: string): Promise<KubeObject | null> {
  return (await cluster.api.list(RUNS)).find(({ spec }) => spec?.job.name === job) ?? null;
}

/** Waits for the record of the end of a job, and returns its status. */
export function whenRunEnded(cluster: Cluster, job: string): Promise<Readonly<Record<string, unknown>>> {
  const end = async (): Promise<Readonly<Record<string, unknown>> | null> => {
    const found = (await runOf(cluster, job))?.status as Readonly<Record<string, unknown>> | undefined;
    return found?.['endedAt'] == null ? null : found;
  };
  return eventually('the record of its end', end, { patienceMs: GANG_PATIENCE_MS });
}

/** Waits until both pods of the attempt train, and returns the step from which they resumed. */
export function whenGangTrains(cluster: Cluster, job: string, attempt: number): Promise<number> {
  const logOf = async (pod: string): Promise<string> => (await cluster.api.text(`${PODS}/${pod}/log?container=pytorch`)) ?? '';
  return eventually(
    `attempt ${attempt} of ${job} to train`,
    async () => {
      const labels = `training.kubeflow.org/job-name=${job},holdfast.dev/attempt=${attempt}`;
      if ((await cluster.api.list(`${PODS}?labelSelector=${labels}`)).length < ROLES.length) return null;
      const logs = await Promise.all(ROLES.map((role) => logOf(podOfRole(job, role))));
      if (!logs.every((log) => log.includes('stepping'))) return null;
      return Number(logs.join('\n').match(/rank 0 from step (\d+)/)?.[1]);
    },
    { patienceMs: GANG_PATIENCE_MS },
  );
}
