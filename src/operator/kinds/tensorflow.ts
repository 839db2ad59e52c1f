import type { JobKind, SuccessRule, TrainingJob } from './kind.ts';
import { leaderOf, replicaOf } from './parse-job.ts';
import { tensorflowEnvironment } from './tf-config.ts';

/** The TFJob. */
export const TF_JOB: JobKind = {
  resource: { group: 'kubeflow.org', version: 'v1', plural: 'tfjobs', kind: 'TFJob', isNamespaced: true },
  rolesField: 'tfReplicaSpecs',
  roles: ['Chief', 'Master', 'PS', 'Worker', 'Evaluator'],
  leaders: ['Chief', 'Master'],
  asideRoles: ['Evaluator'],
  serverRoles: ['PS'],
  container: 'tensorflow',
  portName: 'tfjob-port',
  port: 2222,
  defaultPolicy: 'Never',
  operatorName: 'tfjob-controller',
  framework: 'tensorflow',
  hasSelector: false,
  deletedReason: 'DeleteJob',
  exclusiveRoles: ['Chief', 'Master'],
  checksRoles: false,
  environment: tensorflowEnvironment,
  environmentFor: 'first-training',
  initContainers: () => [],
  successRule,
  messages: {
    running: (job) => `TFJob ${place(job)} is running.`,
    succeeded: (job) => `TFJob ${place(job)} successfully completed.`,
    failed: (job, role, count) => `TFJob ${place(job)} has failed because ${count} ${role} replica(s) failed.`,
  },
};

function place({ namespace, name }: TrainingJob): string {
  return `${namespace}/${name}`;
}

function successRule(job: TrainingJob): SuccessRule | null {
  const leader = leaderOf(job);
  if (leader !== null) return { role: leader.role, needs: 'all' };
  if (replicaOf(job, 'Worker') === null) return null;
  return { role: 'Worker', needs: job.successPolicy === 'AllWorkers' ? 'all' : 'first-or-all' };
}
