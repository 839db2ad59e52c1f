import type { TrainingJob } from './kind.ts';

/** The labels of v1, by which it finds the pods and Services of a job. */
export const V1_LABELS = {
  operator: 'training.kubeflow.org/operator-name',
  job: 'training.kubeflow.org/job-name',
  replicaType: 'training.kubeflow.org/replica-type',
  replicaIndex: 'training.kubeflow.org/replica-index',
  jobRole: 'training.kubeflow.org/job-role',
} as const;

/** The label with the number of the attempt that a pod belongs to. */
export const ATTEMPT_LABEL = 'holdfast.dev/attempt';
/** The environment variable with the same number. */
export const ATTEMPT_VARIABLE = 'HOLDFAST_GANG_ATTEMPT';

/** The name of a pod and of its Service: `train-worker-0`. */
export function replicaName(job: Pick<TrainingJob, 'name'>, role: string, index: number): string {
  return `${job.name}-${role.toLowerCase()}-${index}`;
}

/** The labels of all pods and Services of a job. */
export function jobLabels(job: Pick<TrainingJob, 'name' | 'kind'>): Readonly<Record<string, string>> {
  return { [V1_LABELS.operator]: job.kind.operatorName, [V1_LABELS.job]: job.name };
}

/** The labels of a pod and of its Service. */
export function replicaLabels(job: Pick<TrainingJob, 'name' | 'kind'>, role: string, index: number): Readonly<Record<string, string>> {
  return { ...jobLabels(job), [V1_LABELS.replicaType]: role.toLowerCase(), [V1_LABELS.replicaIndex]: String(index) };
}

/** The selector of a role as the status shows it: v1 sorts the labels by name. */
export function selectorText(job: Pick<TrainingJob, 'name' | 'kind'>, role: string): string {
  const labels = { ...jobLabels(job), [V1_LABELS.replicaType]: role.toLowerCase() };
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .sort()
    .join(',');
}
