import type { ElasticPolicy, EnvVar, Place, TrainingJob } from './kind.ts';
import { replicaName } from './names.ts';
import { replicaOf, totalReplicas } from './parse-job.ts';

/** The environment of every container of a PyTorchJob, in v1's order. */
export function pytorchEnvironment(job: TrainingJob, place: Place): readonly EnvVar[] {
  const { elastic, processesPerNode } = job;
  return [
    variable('PYTHONUNBUFFERED', 1),
    ...masterVariables(job, place),
    ...(processesPerNode === null ? [] : [variable('PET_NPROC_PER_NODE', processesPerNode)]),
    ...(elastic === null ? [variable('PET_NNODES', totalReplicas(job))] : elasticVariables(job, elastic)),
  ];
}

function masterVariables(job: TrainingJob, { replica, index }: Place): readonly EnvVar[] {
  const master = replicaOf(job, 'Master');
  if (master === null) return [];
  const address = replicaName(job, 'Master', 0);
  // The rank of the pod, also where a pod runs several processes.
  const rank = replica.role === 'Worker' ? index + 1 : index;
  return [
    variable('MASTER_PORT', master.port),
    variable('PET_MASTER_PORT', master.port),
    variable('MASTER_ADDR', address),
    variable('PET_MASTER_ADDR', address),
    variable('WORLD_SIZE', totalReplicas(job) * countOf(job.processesPerNode)),
    variable('RANK', rank),
    variable('PET_NODE_RANK', rank),
  ];
}

/** `auto`, `cpu` and `gpu` count as one: the number is known only on the node. */
function countOf(processesPerNode: string | null): number {
  return processesPerNode !== null && /^[+-]?\d{1,9}$/.test(processesPerNode) ? Number(processesPerNode) : 1;
}

function elasticVariables(job: TrainingJob, elastic: ElasticPolicy): readonly EnvVar[] {
  const { min, max, maxRestarts, processesPerNode, id, conf, isStandalone } = elastic;
  const host = elastic.host ?? replicaName(job, 'Worker', 0);
  const port = elastic.port ?? replicaOf(job, 'Worker')?.port ?? job.kind.port;
  return [
    variable('PET_RDZV_ENDPOINT', `${host}:${port}`),
    variable('PET_RDZV_BACKEND', elastic.backend),
    variable('PET_NNODES', `${min}:${max}`),
    ...(maxRestarts === null ? [] : [variable('PET_MAX_RESTARTS', maxRestarts)]),
    ...(processesPerNode === null ? [] : [variable('PET_NPROC_PER_NODE', processesPerNode)]),
    ...(id === null ? [] : [variable('PET_RDZV_ID', id)]),
    ...(conf === null || conf.length === 0 ? [] : [variable('PET_RDZV_CONF', conf.map(({ key, value }) => `${key}=${value}`).join(','))]),
    // torchrun reads a number here; v1's empty text ends it with an error.
    ...(isStandalone ? [variable('PET_STANDALONE', 1)] : []),
  ];
}

function variable(name: string, value: string | number): EnvVar {
  return { name, value: String(value) };
}
