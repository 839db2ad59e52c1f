import { describe, expect, it } from 'vitest';
import { AVOID_NOTHING } from '../../domain/gang/avoidance.ts';
import type { ApiObject } from '../../kube/api/api-object.ts';
import { at, listAt, textAt } from '../../kube/objects/fields.ts';
import { autoscalerFor } from './autoscaler.ts';
import type { JobKind, PodSettings, TrainingJob } from './kind.ts';
import { parseJob } from './parse-job.ts';
import { podFor, type PodChoice } from './pod.ts';
import { podGroupFor } from './pod-group.ts';
import { PYTORCH_JOB } from './pytorch.ts';
import { serviceFor } from './service.ts';
import { TF_JOB } from './tensorflow.ts';
import { errorText, validateJob } from './validate.ts';

const SETTINGS: PodSettings = {
  initImage: 'alpine:3.10',
  initTries: 100,
  clusterDomain: null,
  gangScheduler: null,
  hasNativeGangs: false,
  supervision: { image: null, isForAll: false },
};
const CHOICE: PodChoice = { attempt: 3, isInGang: true, group: null, avoided: AVOID_NOTHING, machines: null, settings: SETTINGS };

type Spec = Readonly<Record<string, unknown>>;

function objectOf(kind: JobKind, spec: Spec, name = 'j'): ApiObject {
  const metadata = { name, namespace: 'n', uid: 'abcdef-1', resourceVersion: '1', creationTimestamp: '2026-11-18T08:00:00Z' };
  return { apiVersion: 'kubeflow.org/v1', kind: kind.resource.kind, metadata, spec };
}

function role(kind: JobKind, replicas: number | undefined, container: Spec = {}, more: Spec = {}): Spec {
  const template = { spec: { containers: [{ name: kind.container, image: 'i', ...container }] } };
  return { ...(replicas === undefined ? {} : { replicas }), template, ...more };
}

function pytorch(roles: Spec, more: Spec = {}): TrainingJob {
  return parseJob(PYTORCH_JOB, objectOf(PYTORCH_JOB, { pytorchReplicaSpecs: roles, ...more }));
}

function tensorflow(roles: Spec, more: Spec = {}): TrainingJob {
  return parseJob(TF_JOB, objectOf(TF_JOB, { tfReplicaSpecs: roles, ...more }));
}

function podOf(job: TrainingJob, name: string, settings: Partial<PodSettings> = {}, isInGang = true, choice: Partial<PodChoice> = {}) {
  const places = job.replicas.flatMap((replica) => Array.from({ length: replica.count }, (_, index) => ({ replica, index })));
  const made = places.map((place) => podFor(job, place, { ...CHOICE, isInGang, settings: { ...SETTINGS, ...settings }, ...choice }));
  const found = made.find(({ metadata }) => metadata.name === name);
  if (found === undefined) throw new Error(`no ${name} among ${made.map(({ metadata }) => metadata.name).join(', ')}`);
  return found;
}

/** `NAME=value` of a container of a pod. */
function environment(job: TrainingJob, name: string, container = 0): readonly string[] {
  const pod = podOf(job, name);
  return listAt(listAt(at(pod, 'spec'), 'containers')[container], 'env').map((each) => `${textAt(each, 'name')}=${textAt(each, 'value')}`);
}

const MASTER = { Master: role(PYTORCH_JOB, 1), Worker: role(PYTORCH_JOB, 2) };

describe('the environment of a PyTorchJob', () => {
  it.each<[string, TrainingJob, string, readonly string[]]>([
    [
      'of a worker beside a master',
      pytorch(MASTER, { nprocPerNode: '2' }),
      'j-worker-1',
      [
        'PYTHONUNBUFFERED=1',
        'MASTER_PORT=23456',
        'PET_MASTER_PORT=23456',
        'MASTER_ADDR=j-master-0',
        'PET_MASTER_ADDR=j-master-0',
        'WORLD_SIZE=6',
        'RANK=2',
        'PET_NODE_RANK=2',
        'PET_NPROC_PER_NODE=2',
        'PET_NNODES=3',
      ],
    ],
    [
      'of a master with a port of its own',
      pytorch({ Master: role(PYTORCH_JOB, 1, { ports: [{ name: 'pytorchjob-port', containerPort: 99 }] }) }),
      'j-master-0',
      [
        'PYTHONUNBUFFERED=1',
        'MASTER_PORT=99',
        'PET_MASTER_PORT=99',
        'MASTER_ADDR=j-master-0',
        'PET_MASTER_ADDR=j-master-0',
        'WORLD_SIZE=1',
        'RANK=0',
        'PET_NODE_RANK=0',
        'PET_NPROC_PER_NODE=auto',
        'PET_NNODES=1',
      ],
    ],
    [
      'of workers alone',
      pytorch({ Worker: role(PYTORCH_JOB, 2) }),
      'j-worker-0',
      ['PYTHONUNBUFFERED=1', 'PET_NPROC_PER_NODE=auto', 'PET_NNODES=2'],
    ],
    [
      'of an elastic worker with everything given',
      pytorch(
        { Worker: role(PYTORCH_JOB, 2) },
        {
          elasticPolicy: {
            minReplicas: 1,
            maxReplicas: 3,
            rdzvBackend: 'etcd',
            rdzvHost: 'h',
            rdzvPort: 7,
            rdzvId: 'id',
            rdzvConf: [
              { key: 'a', value: '1' },
              { key: 'b', value: '2' },
            ],
            standalone: true,
            nProcPerNode: 4,
            maxRestarts: 5,
          },
        },
      ),
      'j-worker-0',
      [
        'PYTHONUNBUFFERED=1',
        'PET_RDZV_ENDPOINT=h:7',
        'PET_RDZV_BACKEND=etcd',
        'PET_NNODES=1:3',
        'PET_MAX_RESTARTS=5',
        'PET_NPROC_PER_NODE=4',
        'PET_RDZV_ID=id',
        'PET_RDZV_CONF=a=1,b=2',
        'PET_STANDALONE=1',
      ],
    ],
    [
      'of an elastic worker with nothing given',
      pytorch({ Worker: role(PYTORCH_JOB, 2) }, { elasticPolicy: { rdzvConf: [] } }),
      'j-worker-1',
      ['PYTHONUNBUFFERED=1', 'PET_NPROC_PER_NODE=auto', 'PET_RDZV_ENDPOINT=j-worker-0:23456', 'PET_RDZV_BACKEND=c10d', 'PET_NNODES=2:2'],
    ],
  ])('%s is v1’s, in its order, and no more', (_, job, pod, expected) => {
    expect(environment(job, pod)).toEqual(expected);
  });

  it('comes after the user’s own, in every container', () => {
    const sidecar = {
      template: {
        spec: {
          containers: [
            { name: 'pytorch', image: 'i', env: [{ name: 'RANK', value: '9' }] },
            { name: 's', image: 'i' },
          ],
        },
      },
    };
    const job = pytorch({ Master: { replicas: 1, ...sidecar } });
    expect(environment(job, 'j-master-0')[0]).toBe('RANK=9');
    expect(environment(job, 'j-master-0', 1)[0]).toBe('PYTHONUNBUFFERED=1');
  });
});

describe('the environment of a TFJob', () => {
  const PS_WORKERS = { Worker: role(TF_JOB, 2), PS: role(TF_JOB, 1) };
  const config = (job: TrainingJob, pod: string): string | undefined =>
    environment(job, pod)
      .find((each) => each.startsWith('TF_CONFIG='))
      ?.slice('TF_CONFIG='.length);

  it.each<[string, TrainingJob, string, string | undefined]>([
    [
      'names every task',
      tensorflow(PS_WORKERS),
      'j-worker-1',
      '{"cluster":{"ps":["j-ps-0.n.svc:2222"],"worker":["j-worker-0.n.svc:2222","j-worker-1.n.svc:2222"]},"task":{"type":"worker","index":1},"environment":"cloud"}',
    ],
    [
      'names the evaluator',
      tensorflow({ Evaluator: role(TF_JOB, 1), Chief: role(TF_JOB, 1) }),
      'j-evaluator-0',
      '{"cluster":{"chief":["j-chief-0.n.svc:2222"],"evaluator":["j-evaluator-0.n.svc:2222"]},"task":{"type":"evaluator","index":0},"environment":"cloud"}',
    ],
    ['is absent in a job of one pod', tensorflow({ Worker: role(TF_JOB, undefined) }), 'j-worker-0', undefined],
    [
      'of a dynamic worker names itself and the servers',
      tensorflow(PS_WORKERS, { enableDynamicWorker: true }),
      'j-worker-1',
      '{"cluster":{"worker":{"1":"j-worker-1.n.svc:2222"},"ps":["j-ps-0.n.svc:2222"]},"task":{"type":"worker","index":1}}',
    ],
    [
      'of a dynamic worker without servers has none',
      tensorflow({ Worker: role(TF_JOB, 2) }, { enableDynamicWorker: true }),
      'j-worker-0',
      '{"cluster":{"worker":{"0":"j-worker-0.n.svc:2222"},"ps":null},"task":{"type":"worker","index":0}}',
    ],
    [
      'of a server beside dynamic workers names itself',
      tensorflow(PS_WORKERS, { enableDynamicWorker: true }),
      'j-ps-0',
      '{"cluster":{"worker":{},"ps":["j-ps-0.n.svc:2222"]},"task":{"type":"ps","index":0}}',
    ],
  ])('%s', (_, job, pod, expected) => {
    expect(config(job, pod)).toBe(expected);
  });

  it('carries the cluster domain of the operator, and the port of each role', () => {
    const job = tensorflow({ Chief: role(TF_JOB, 1, { ports: [{ name: 'tfjob-port', containerPort: 5 }] }), Worker: role(TF_JOB, 1) });
    const pod = podOf(job, 'j-chief-0', { clusterDomain: 'cluster.local' });
    expect(JSON.stringify(pod)).toContain('j-chief-0.n.svc.cluster.local:5');
    expect(JSON.stringify(pod)).toContain('j-worker-0.n.svc.cluster.local:2222');
  });
});

describe('the pod of a job', () => {
  it('has v1’s labels, the attempt, the owner, and the metadata of its template', () => {
    const metadata = { name: 'x', labels: { team: 'a' }, annotations: { note: 'b' }, finalizers: ['c/d'] };
    const template = { metadata, spec: { containers: [{ name: 'pytorch', image: 'i' }] } };
    const pod = podOf(pytorch({ Master: { replicas: 1, template } }), 'j-master-0');
    expect(pod.metadata).toEqual({
      name: 'j-master-0',
      namespace: 'n',
      labels: {
        team: 'a',
        'training.kubeflow.org/operator-name': 'pytorchjob-controller',
        'training.kubeflow.org/job-name': 'j',
        'training.kubeflow.org/replica-type': 'master',
        'training.kubeflow.org/replica-index': '0',
        'training.kubeflow.org/job-role': 'master',
        'holdfast.dev/attempt': '3',
      },
      annotations: { note: 'b' },
      finalizers: ['c/d'],
      ownerReferences: [
        { apiVersion: 'kubeflow.org/v1', kind: 'PyTorchJob', name: 'j', uid: 'abcdef-1', controller: true, blockOwnerDeletion: true },
      ],
    });
  });

  it.each<[string, TrainingJob, readonly string[]]>([
    ['the master', pytorch(MASTER), ['j-master-0']],
    ['worker 0 where there is no master', pytorch({ Worker: role(PYTORCH_JOB, 2) }), ['j-worker-0']],
    ['the chief', tensorflow({ Chief: role(TF_JOB, 1), Worker: role(TF_JOB, 1) }), ['j-chief-0']],
  ])('marks %s as the master', (_, job, expected) => {
    const places = job.replicas.flatMap((replica) => Array.from({ length: replica.count }, (__, index) => ({ replica, index })));
    const masters = places
      .map((place) => podFor(job, place, { ...CHOICE, attempt: 1 }))
      .filter(({ metadata }) => metadata.labels?.['training.kubeflow.org/job-role'] === 'master');
    expect(masters.map(({ metadata }) => metadata.name)).toEqual(expected);
  });

  it.each([
    ['a gang', 'OnFailure', true, 'Never'],
    ['replicas that are replaced alone', 'OnFailure', false, 'OnFailure'],
    ['replicas that are replaced alone, with ExitCode', 'ExitCode', false, 'Never'],
    ['replicas that are replaced alone, with the default', undefined, false, 'OnFailure'],
  ])('of %s under %s is restarted in place: %s', (_, restartPolicy, isInGang, expected) => {
    const job = pytorch({ Worker: role(PYTORCH_JOB, 1, {}, restartPolicy === undefined ? {} : { restartPolicy }) });
    expect(at(podOf(job, 'j-worker-0', {}, isInGang), 'spec', 'restartPolicy')).toBe(expected);
  });

  it('waits for the master only as a worker beside one', () => {
    expect(listAt(at(podOf(pytorch(MASTER), 'j-worker-0'), 'spec'), 'initContainers')).toMatchObject([
      {
        name: 'init-pytorch',
        image: 'alpine:3.10',
        command: ['sh', '-c', expect.stringContaining('seq 100); do if nslookup j-master-0;')],
      },
    ]);
    expect(at(podOf(pytorch(MASTER), 'j-master-0'), 'spec', 'initContainers')).toBeUndefined();
    expect(at(podOf(pytorch({ Worker: role(PYTORCH_JOB, 1) }), 'j-worker-0'), 'spec', 'initContainers')).toBeUndefined();
  });

  it('names its group for volcano by annotations, and for other schedulers by a label', () => {
    const volcano = podOf(pytorch(MASTER), 'j-worker-0', { gangScheduler: 'volcano' });
    expect(volcano.metadata.annotations).toEqual({ 'scheduling.k8s.io/group-name': 'j', 'volcano.sh/task-spec': 'worker' });
    expect(at(volcano, 'spec', 'schedulerName')).toBe('volcano');
    const other = podOf(pytorch(MASTER), 'j-worker-0', { gangScheduler: 'scheduler-plugins-scheduler' });
    expect(other.metadata.labels).toMatchObject({ 'scheduling.x-k8s.io/pod-group': 'j' });
  });
});

describe('what stands beside the pods', () => {
  it('is a headless Service with the ports of the training container and v1’s', () => {
    const [replica] = pytorch({ Master: role(PYTORCH_JOB, 1, { ports: [{ name: 'http', containerPort: 80 }] }) }).replicas;
    if (replica === undefined) throw new Error('no replica');
    const service = serviceFor(pytorch({ Master: role(PYTORCH_JOB, 1, { ports: [{ name: 'http', containerPort: 80 }] }) }), {
      replica,
      index: 0,
    });
    const labels = {
      'training.kubeflow.org/operator-name': 'pytorchjob-controller',
      'training.kubeflow.org/job-name': 'j',
      'training.kubeflow.org/replica-type': 'master',
      'training.kubeflow.org/replica-index': '0',
    };
    expect(service).toMatchObject({
      metadata: { name: 'j-master-0', namespace: 'n', labels },
      spec: {
        clusterIP: 'None',
        selector: labels,
        ports: [
          { name: 'http', port: 80 },
          { name: 'pytorchjob-port', port: 23456 },
        ],
      },
    });
  });

  it('is an autoscaler of an elastic job with metrics, and of no other', () => {
    const metrics = [{ type: 'Resource' }];
    const job = pytorch({ Worker: role(PYTORCH_JOB, 2) }, { elasticPolicy: { minReplicas: 1, maxReplicas: 3, metrics } });
    expect(autoscalerFor(job)).toMatchObject({
      metadata: { name: 'j', namespace: 'n' },
      spec: { scaleTargetRef: { kind: 'PyTorchJob', name: 'j', apiVersion: 'kubeflow.org/v1' }, minReplicas: 1, maxReplicas: 3, metrics },
    });
    expect(autoscalerFor(pytorch(MASTER))).toBeNull();
  });

  it('is a PodGroup with the resources of its pods', () => {
    const resources = { requests: { cpu: '500m', memory: '1Gi' } };
    const job = pytorch(
      { Master: role(PYTORCH_JOB, 1, { resources }), Worker: role(PYTORCH_JOB, 2, { resources: { limits: { cpu: 1 } } }) },
      { runPolicy: { schedulingPolicy: { queue: 'q', priorityClass: 'p', scheduleTimeoutSeconds: 5 } } },
    );
    expect(podGroupFor(job, 'volcano')).toMatchObject({
      apiVersion: 'scheduling.volcano.sh/v1beta1',
      spec: { minMember: 3, queue: 'q', priorityClassName: 'p', minResources: { cpu: '2500m', memory: '1073741824' } },
    });
    expect(podGroupFor(job, 'other')['spec']).toEqual({
      minMember: 3,
      minResources: { cpu: '2500m', memory: '1073741824' },
      scheduleTimeoutSeconds: 5,
    });
  });
});

describe('a job that v1 refuses', () => {
  const noName = { replicas: 1, template: { spec: { containers: [{ name: 'main', image: 'i' }] } } };
  const roles = (specs: Spec, more: Spec = {}): Spec => ({ pytorchReplicaSpecs: specs, ...more });

  it.each<[string, JobKind, Spec, readonly string[]]>([
    ['a valid one', PYTORCH_JOB, roles(MASTER), []],
    ['no roles', PYTORCH_JOB, {}, ['spec.pytorchReplicaSpecs: Required value']],
    [
      'a role that the kind does not know',
      PYTORCH_JOB,
      roles({ worker: role(PYTORCH_JOB, 1) }),
      ['spec.pytorchReplicaSpecs[worker]: Unsupported value'],
    ],
    [
      'no containers',
      PYTORCH_JOB,
      roles({ Worker: { template: {} } }),
      [
        'spec.pytorchReplicaSpecs[Worker].template.spec.containers: Required value: must be specified',
        'spec.pytorchReplicaSpecs[Worker].template.spec.containers: Required value: must have at least one container with name pytorch',
      ],
    ],
    [
      'a container without an image',
      PYTORCH_JOB,
      roles({ Worker: { template: { spec: { containers: [{ name: 'pytorch' }] } } } }),
      ['spec.pytorchReplicaSpecs[Worker].template.spec.containers[0].image: Required value'],
    ],
    [
      'a master without replicas',
      PYTORCH_JOB,
      roles({ Master: role(PYTORCH_JOB, undefined) }),
      ['spec.pytorchReplicaSpecs[Master].replicas: Forbidden: must be 1'],
    ],
    [
      'no worker',
      PYTORCH_JOB,
      roles({ Worker: role(PYTORCH_JOB, 0) }),
      ['spec.pytorchReplicaSpecs[Worker].replicas: Forbidden: must be at least 1'],
    ],
    [
      'elastic without workers',
      PYTORCH_JOB,
      roles({ Master: role(PYTORCH_JOB, 1) }, { elasticPolicy: {} }),
      ['spec.pytorchReplicaSpecs[Worker]: Required value'],
    ],
    [
      'two numbers of processes',
      PYTORCH_JOB,
      roles({ Worker: role(PYTORCH_JOB, 1) }, { nprocPerNode: '2', elasticPolicy: { nProcPerNode: 2 } }),
      ['spec.elasticPolicy.nProcPerNode: Forbidden: must not be used with spec.nprocPerNode'],
    ],
    [
      'another manager',
      PYTORCH_JOB,
      roles(MASTER, { runPolicy: { managedBy: 'me' } }),
      ['spec.runPolicy.managedBy: Unsupported value: "me"'],
    ],
    [
      'a chief and a master',
      TF_JOB,
      { tfReplicaSpecs: { Chief: role(TF_JOB, 1), Master: role(TF_JOB, 1) } },
      ['spec.tfReplicaSpecs: Forbidden'],
    ],
    [
      'no tensorflow container',
      TF_JOB,
      { tfReplicaSpecs: { Worker: noName } },
      ['spec.tfReplicaSpecs[Worker].template.spec.containers: Required value'],
    ],
    ['counts that a TFJob may have', TF_JOB, { tfReplicaSpecs: { Chief: role(TF_JOB, 2), Worker: role(TF_JOB, 0) } }, []],
  ])('has %s', (_, kind, spec, expected) => {
    const found = validateJob(kind, objectOf(kind, spec)).map(errorText);
    expect(found).toHaveLength(expected.length);
    for (const [index, text] of expected.entries()) expect(found[index]).toContain(text);
  });

  it('has a name that is no DNS-1035 label', () => {
    for (const name of ['1a', 'A', 'a_b', 'a-', 'a'.repeat(64)]) {
      expect(validateJob(PYTORCH_JOB, objectOf(PYTORCH_JOB, roles(MASTER), name)).map(({ path }) => path)).toEqual(['metadata.name']);
    }
  });
});

describe('the success rule', () => {
  it.each<[string, TrainingJob, unknown]>([
    ['the master', pytorch(MASTER), { role: 'Master', needs: 'all' }],
    ['all workers', pytorch({ Worker: role(PYTORCH_JOB, 2) }), { role: 'Worker', needs: 'all' }],
    ['any worker of an elastic job', pytorch({ Worker: role(PYTORCH_JOB, 2) }, { elasticPolicy: {} }), { role: 'Worker', needs: 'any' }],
    ['the chief', tensorflow({ Chief: role(TF_JOB, 1), Worker: role(TF_JOB, 1) }), { role: 'Chief', needs: 'all' }],
    ['worker 0, or all workers', tensorflow({ Worker: role(TF_JOB, 2) }), { role: 'Worker', needs: 'first-or-all' }],
    [
      'all workers, where the job asks for that',
      tensorflow({ Worker: role(TF_JOB, 2) }, { successPolicy: 'AllWorkers' }),
      { role: 'Worker', needs: 'all' },
    ],
    ['nothing, with servers alone', tensorflow({ PS: role(TF_JOB, 2) }), null],
  ])('asks for %s', (_, job, expected) => {
    expect(job.kind.successRule(job)).toEqual(expected);
  });
});
