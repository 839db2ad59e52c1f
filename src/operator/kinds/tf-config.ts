import type { EnvVar, Place, PodSettings, TrainingJob } from './kind.ts';
import { replicaName } from './names.ts';

/** `TF_CONFIG`, which v1 sets only where more than one pod takes part. */
export function tensorflowEnvironment(job: TrainingJob, place: Place, settings: PodSettings): readonly EnvVar[] {
  const known = job.replicas.filter(({ role }) => job.kind.roles.includes(role));
  if (known.reduce((sum, { count }) => sum + count, 0) === 1) return [];
  const config = job.hasDynamicWorkers ? sparseConfig(job, place, settings) : denseConfig(job, place, settings);
  return [{ name: 'TF_CONFIG', value: JSON.stringify(config) }];
}

/** Every task knows every other one. */
function denseConfig(job: TrainingJob, place: Place, settings: PodSettings): object {
  return { cluster: Object.fromEntries(addressesOf(job, settings)), task: taskOf(place), environment: 'cloud' };
}

/** A task knows the parameter servers and itself, so that workers may come and go. */
function sparseConfig(job: TrainingJob, place: Place, settings: PodSettings): object {
  const addresses = new Map(addressesOf(job, settings));
  const { type, index } = taskOf(place);
  const own = addresses.get(type)?.[index] ?? '';
  if (type === 'worker') return { cluster: { worker: { [index]: own }, ps: addresses.get('ps') ?? null }, task: { type, index } };
  return { cluster: { worker: {}, ps: type === 'ps' ? [own] : [] }, task: { type, index } };
}

function taskOf({ replica, index }: Place): { readonly type: string; readonly index: number } {
  return { type: replica.role.toLowerCase(), index };
}

/** The addresses of all tasks by role, in alphabetical order as Go writes a map. */
function addressesOf(job: TrainingJob, { clusterDomain }: PodSettings): readonly (readonly [string, readonly string[]])[] {
  const domain = clusterDomain === null ? '' : `.${clusterDomain}`;
  return job.replicas
    .map(({ role, count, port }) => {
      const address = (_: unknown, index: number): string => `${replicaName(job, role, index)}.${job.namespace}.svc${domain}:${port}`;
      return [role.toLowerCase(), Array.from({ length: count }, address)] as const;
    })
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
}
