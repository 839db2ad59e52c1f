import type { Fields } from '../../kube/objects/fields.ts';
import type { JobKind, Place, PodSettings, SuccessRule, TrainingJob } from './kind.ts';
import { replicaName } from './names.ts';
import { replicaOf } from './parse-job.ts';
import { pytorchEnvironment } from './pytorch-environment.ts';

/** The PyTorchJob. */
export const PYTORCH_JOB: JobKind = {
  resource: { group: 'kubeflow.org', version: 'v1', plural: 'pytorchjobs', kind: 'PyTorchJob', isNamespaced: true },
  rolesField: 'pytorchReplicaSpecs',
  roles: ['Master', 'Worker'],
  leaders: ['Master'],
  asideRoles: [],
  serverRoles: [],
  container: 'pytorch',
  portName: 'pytorchjob-port',
  port: 23456,
  defaultPolicy: 'OnFailure',
  operatorName: 'pytorchjob-controller',
  framework: 'pytorch',
  hasSelector: true,
  deletedReason: 'DeletePod',
  exclusiveRoles: [],
  checksRoles: true,
  environment: pytorchEnvironment,
  environmentFor: 'all',
  initContainers: waitForMaster,
  successRule,
  messages: {
    running: (job) => (replicaOf(job, 'Master') === null ? `PyTorchJob ${place(job)} is running.` : `PyTorchJob ${job.name} is running.`),
    succeeded: (job) =>
      replicaOf(job, 'Master') === null
        ? `PyTorchJob ${place(job)} successfully completed.`
        : `PyTorchJob ${job.name} is successfully completed.`,
    failed: (job, role, count) => `PyTorchJob ${job.name} is failed because ${count} ${role} replica(s) failed.`,
  },
};

function place({ namespace, name }: TrainingJob): string {
  return `${namespace}/${name}`;
}

function successRule(job: TrainingJob): SuccessRule | null {
  if (replicaOf(job, 'Master') !== null) return { role: 'Master', needs: 'all' };
  if (replicaOf(job, 'Worker') === null) return null;
  return { role: 'Worker', needs: job.elastic === null ? 'all' : 'any' };
}

/** A worker beside a master waits until the name of the master resolves. */
function waitForMaster(job: TrainingJob, { replica }: Place, { initImage, initTries }: PodSettings): readonly Fields[] {
  if (replica.role !== 'Worker' || replicaOf(job, 'Master') === null) return [];
  const master = replicaName(job, 'Master', 0);
  const script = `err=1;for i in $(seq ${initTries}); do if nslookup ${master}; then err=0 && break; fi;echo waiting for master; sleep 2; done; exit $err`;
  return [
    {
      name: 'init-pytorch',
      image: initImage,
      imagePullPolicy: 'IfNotPresent',
      resources: { limits: { cpu: '100m', memory: '20Mi' }, requests: { cpu: '50m', memory: '10Mi' } },
      command: ['sh', '-c', script],
    },
  ];
}
