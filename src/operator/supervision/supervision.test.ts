import { describe, expect, it } from 'vitest';
import { podOf as readPod } from '../../kube/objects/pod.ts';
import { objectOf } from '../../kube/objects/object.ts';
import { at, listAt, textAt, textsAt } from '../../kube/objects/fields.ts';
import type { JobKind, SupervisionSettings, TrainingJob } from '../kinds/kind.ts';
import { parseJob } from '../kinds/parse-job.ts';
import { PYTORCH_JOB } from '../kinds/pytorch.ts';
import { TF_JOB } from '../kinds/tensorflow.ts';
import { checkResultOf } from './check-result.ts';
import { decideSupervision, type Supervised } from './decide-supervision.ts';
import { startsSupervisor } from './names.ts';
import { REFUSALS, refusalText } from './refusals.ts';
import { supervisedPod } from './supervised-pod.ts';

type Fields = Readonly<Record<string, unknown>>;

const IMAGE = 'registry.example/holdfast:1';
const ON: SupervisionSettings = { image: IMAGE, isForAll: false };
const ASKED = { 'holdfast.dev/supervise': 'true' };
const CLAIM = { name: 'data', persistentVolumeClaim: { claimName: 'runs' } };
const MOUNT = { name: 'data', mountPath: '/data' };
const TRAINER = { name: 'pytorch', image: 'trainer:1', command: ['python'], args: ['train.py', '--rank=$(RANK)'], volumeMounts: [MOUNT] };

/** A role of pods, with changes of their container and their spec. */
const role = (replicas: number, container: Fields = {}, spec: Fields = {}): Fields => ({
  replicas,
  template: { spec: { containers: [{ ...TRAINER, ...container }], volumes: [CLAIM], ...spec } },
});
const ONE: Fields = { Master: role(1) };
const TWO: Fields = { Master: role(1), Worker: role(1) };

interface JobParts {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: Fields;
  readonly kind?: JobKind;
}

function jobOf(roles: Fields, { annotations = {}, spec = {}, kind = PYTORCH_JOB }: JobParts = {}): TrainingJob {
  const metadata = {
    name: 'j',
    namespace: 'n',
    uid: 'u-1',
    resourceVersion: '1',
    creationTimestamp: '',
    annotations: { ...ASKED, ...annotations },
  };
  return parseJob(kind, { apiVersion: 'kubeflow.org/v1', kind: kind.resource.kind, metadata, spec: { [kind.rolesField]: roles, ...spec } });
}

function optionsOf(job: TrainingJob, name = 'Master', index = 0): readonly string[] | null {
  return supervisedBy(job).optionsFor(name, index);
}

function supervisedBy(job: TrainingJob): Supervised {
  const decided = decideSupervision(job, 'gang', ON);
  if (decided?.kind !== 'supervised') throw new Error(JSON.stringify(decided));
  return decided;
}

describe('the decision to supervise a job', () => {
  it.each<[string, string | null, boolean, boolean]>([
    ['not, without a request', null, false, false],
    ['where the annotation asks for it', 'true', false, true],
    ['where the operator supervises all jobs', null, true, true],
    ['not, where the annotation refuses what the operator does for all', 'false', true, false],
  ])('is made: %s', (_, text, isForAll, isSupervised) => {
    const job = jobOf(ONE, { annotations: text === null ? {} : { 'holdfast.dev/supervise': text } });
    const plain: TrainingJob = text === null ? { ...job, choices: { ...job.choices, supervise: null } } : job;
    expect(decideSupervision(plain, 'gang', { ...ON, isForAll })?.kind).toBe(isSupervised ? 'supervised' : undefined);
  });

  it('gives one pod a folder of the job on its volume, its own grace, notices and status', () => {
    expect(optionsOf(jobOf({ Master: role(1, {}, { terminationGracePeriodSeconds: 120 }) }))).toEqual([
      '--dir=/data/holdfast/j',
      '--grace=120s',
      '--notice-file=/holdfast/pod/annotations',
      '--status=0.0.0.0:9400',
      '--nodes=1',
    ]);
  });

  it('gives all nodes of a gang one id, and each its rank in the order of the roles', () => {
    const job = jobOf({ Worker: role(2), Master: role(1) });
    const gangs = [optionsOf(job), optionsOf(job, 'Worker', 0), optionsOf(job, 'Worker', 1)].map((options) => options?.slice(4));
    expect(gangs).toEqual([0, 1, 2].map((rank) => ['--nodes=3', `--node-rank=${rank}`, '--gang=u-1']));
  });

  it('passes on what the annotations name', () => {
    const annotations = { 'holdfast.dev/watch': '/data/out', 'holdfast.dev/ship': 's3://bucket/run-7', 'holdfast.dev/again': 'true' };
    const options = optionsOf(jobOf(ONE, { annotations }));
    expect(options).toContain('--watch=/data/out');
    expect(options).toContain('--ship=s3://bucket/run-7');
    expect(options).toContain('--again');
    expect(options?.join(' ')).not.toContain('--dir');
    expect(optionsOf(jobOf(ONE, { annotations: { 'holdfast.dev/dir': '/data/x' } }))?.[0]).toBe('--dir=/data/x');
  });

  it.each<[string, Fields, Fields, string]>([
    ['leaves a hook that sleeps before SIGTERM its seconds', { lifecycle: { preStop: { sleep: { seconds: 20 } } } }, {}, '--grace=10s'],
    ['knows that a kubelet always waits two seconds', {}, { terminationGracePeriodSeconds: 0 }, '--grace=2s'],
    ['serves its status beside a port of the container', { ports: [{ containerPort: 9400 }] }, {}, '--status=0.0.0.0:9401'],
    ['writes its message where the kubelet looks for it', { terminationMessagePath: '/tmp/end' }, {}, '--termination-log=/tmp/end'],
  ])('%s', (_, container, spec, option) => {
    expect(optionsOf(jobOf({ Master: role(1, container, spec) }))).toContain(option);
  });

  it('leaves the evaluator of a TFJob without a supervisor, and counts it as no node', () => {
    const trainer = { name: 'tensorflow' };
    const job = jobOf({ Chief: role(1, trainer), Worker: role(1, trainer), Evaluator: role(1, trainer) }, { kind: TF_JOB });
    expect(optionsOf(job, 'Worker', 0)?.slice(4)).toEqual(['--nodes=2', '--node-rank=1', '--gang=u-1']);
    expect(optionsOf(job, 'Evaluator', 0)).toBeNull();
  });

  const emptyDir = { name: 'data', emptyDir: {} };
  const other = { name: 'other', persistentVolumeClaim: { claimName: 'other' } };
  const two = [MOUNT, { name: 'other', mountPath: '/other' }];
  it.each<[string, string, TrainingJob]>([
    ['NO_COMMAND', 'the image decides what runs', jobOf({ Master: role(1, { command: undefined }) })],
    [
      'ALREADY_SUPERVISED',
      'the command starts holdfast run',
      jobOf({ Master: role(1, { command: ['/opt/holdfast', 'run', '--', 'python'] }) }),
    ],
    ['NO_VOLUME', 'the volume ends with the pod', jobOf({ Master: role(1, {}, { volumes: [emptyDir] }) })],
    [
      'NO_VOLUME',
      'the volume is a folder of the node',
      jobOf({ Master: role(1, {}, { volumes: [{ name: 'data', hostPath: { path: '/d' } }] }) }),
    ],
    ['NO_VOLUME', 'the mount is read-only', jobOf({ Master: role(1, { volumeMounts: [{ ...MOUNT, readOnly: true }] }) })],
    ['NO_VOLUME', 'the worker mounts none', jobOf({ Master: role(1), Worker: role(1, { volumeMounts: [] }) })],
    ['SEVERAL_VOLUMES', 'two volumes survive', jobOf({ Master: role(1, { volumeMounts: two }, { volumes: [CLAIM, other] }) })],
    ['VOLUME_NOT_SHARED', 'each role has its own claim', jobOf({ ...TWO, Worker: role(1, {}, { volumes: [{ ...other, name: 'data' }] }) })],
    ['VOLUME_NOT_SHARED', 'each role has its own part', jobOf({ ...TWO, Worker: role(1, { volumeMounts: [{ ...MOUNT, subPath: 'w' }] }) })],
    ['VOLUME_NOT_SHARED', 'each pod has its own part', jobOf({ Worker: role(2, { volumeMounts: [{ ...MOUNT, subPathExpr: '$(POD)' }] }) })],
    ['VOLUME_NOT_SHARED', 'the named folder is on no volume', jobOf(TWO, { annotations: { 'holdfast.dev/dir': '/elsewhere' } })],
    ['ELASTIC', 'the number of workers changes', jobOf(ONE, { spec: { elasticPolicy: { minReplicas: 1 } } })],
    ['WATCH_SEVERAL_NODES', 'two pods are watched', jobOf(TWO, { annotations: { 'holdfast.dev/watch': '/data/out' } })],
    ['FOLDER_INVALID', 'the path is relative', jobOf(ONE, { annotations: { 'holdfast.dev/dir': 'runs' } })],
    ['FOLDER_INVALID', 'the path leaves its folder', jobOf(ONE, { annotations: { 'holdfast.dev/dir': '/data/../etc' } })],
    ['FOLDER_INVALID', 'two folders are named', jobOf(ONE, { annotations: { 'holdfast.dev/dir': '/a', 'holdfast.dev/watch': '/b' } })],
    ['SHIP_INVALID', 'the address is none', jobOf(ONE, { annotations: { 'holdfast.dev/ship': 'bucket' } })],
    [
      'PATH_TAKEN',
      'a volume lies where ours would',
      jobOf({ Master: role(1, { volumeMounts: [{ ...MOUNT, mountPath: '/holdfast/bin' }] }) }),
    ],
    ['PATH_TAKEN', 'a volume has the name of ours', jobOf({ Master: role(1, {}, { volumes: [CLAIM, { name: 'holdfast-bin' }] }) })],
  ])('is refused with %s when %s', (code, _, job) => {
    const decided = decideSupervision(job, 'gang', ON);
    expect(decided?.kind === 'refused' ? decided.reasons.map((reason) => reason.code) : decided).toEqual([code]);
  });

  it('is refused with NO_IMAGE when the operator does not know its own image', () => {
    expect(decideSupervision(jobOf(ONE), 'gang', { ...ON, image: null })).toMatchObject({ reasons: [{ code: 'NO_IMAGE' }] });
  });

  it('is refused with ELASTIC when several pods are replaced one by one, and made for one pod', () => {
    expect(decideSupervision(jobOf(TWO), 'replica', ON)).toMatchObject({ reasons: [{ code: 'ELASTIC' }] });
    expect(decideSupervision(jobOf(ONE), 'replica', ON)).toMatchObject({ kind: 'supervised' });
  });

  it('takes a named folder on a volume that every pod mounts, also at another path', () => {
    const mounted = (mountPath: string): Fields => role(1, { volumeMounts: [{ ...MOUNT, mountPath }] });
    expect(optionsOf(jobOf({ Master: mounted('/data'), Worker: mounted('/mnt') }), 'Worker')?.[0]).toBe('--dir=/mnt/holdfast/j');
    const host = role(2, {}, { volumes: [{ name: 'data', hostPath: { path: '/mnt/nfs' } }] });
    expect(optionsOf(jobOf({ Worker: host }, { annotations: { 'holdfast.dev/dir': '/data/run' } }), 'Worker')?.[0]).toBe('--dir=/data/run');
  });

  it('tells in one event every reason and how to change it', () => {
    const decided = decideSupervision(jobOf({ Master: role(1, { command: [], volumeMounts: [] }) }), 'gang', ON);
    const text = decided?.kind === 'refused' ? refusalText(decided.reasons) : '';
    for (const code of ['NO_COMMAND', 'NO_VOLUME'] as const) expect(text).toContain(`(${code}). ${REFUSALS[code]}`);
  });
});

describe('a supervised pod', () => {
  const supervisor = { container: 'pytorch', image: IMAGE, options: ['--dir=/data/$(x)'], attempt: 3, isRequired: false };
  const resources = { limits: { cpu: 4, memory: '8Gi', 'nvidia.com/gpu': 8 }, requests: { cpu: 4, memory: '8Gi', 'nvidia.com/gpu': 8 } };
  const securityContext = { runAsUser: 1000, runAsNonRoot: true };
  const sidecar = { name: 'sidecar', image: 's', command: ['s'] };
  const own = { ...TRAINER, resources, securityContext, env: [{ name: 'RANK', value: '0' }] };
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {},
    spec: { containers: [sidecar, own], volumes: [CLAIM], initContainers: [{ name: 'init-pytorch' }] },
  };
  const made = supervisedPod(pod, supervisor);
  const [install, check, ...others] = listAt(made, 'spec', 'initContainers');
  const [first, trainer] = listAt(made, 'spec', 'containers');

  it('starts the trainer’s own words behind --, so that the kubelet expands them alone', () => {
    expect(textsAt(trainer, 'command')).toEqual([
      '/holdfast/bin/holdfast-launch',
      '/holdfast/bin/holdfast-run',
      '--dir=/data/$$(x)',
      '--',
      'python',
    ]);
    expect(at(trainer, 'args')).toBe(TRAINER.args);
  });

  it('gives the trainer the number of the attempt behind its own variables', () => {
    expect(at(trainer, 'env')).toEqual([...own.env, { name: 'HOLDFAST_GANG_ATTEMPT', value: '3' }]);
  });

  it('changes nothing else of its containers', () => {
    const without = (container: unknown): Fields => ({ ...(container as Fields), command: null, volumeMounts: null, env: null });
    expect(first).toBe(sidecar);
    expect(without(trainer)).toEqual(without(own));
    expect(others).toEqual([{ name: 'init-pytorch' }]);
  });

  it('copies the programs first, as Pod Security restricted demands', () => {
    expect(textsAt(install, 'command')).toEqual([
      '/opt/holdfast/holdfast-launch',
      '--install',
      '/holdfast/bin',
      '/opt/holdfast/holdfast-run',
    ]);
    expect(textAt(install, 'image')).toBe(IMAGE);
    expect(at(install, 'securityContext')).toMatchObject({
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    });
  });

  it('then test-runs them as the trainer will run', () => {
    expect(check).toMatchObject({
      image: 'trainer:1',
      securityContext,
      env: own.env,
      volumeMounts: [MOUNT, { mountPath: '/holdfast/bin' }],
    });
    expect(textsAt(check, 'command')).toEqual(['/holdfast/bin/holdfast-launch', '--check', '/holdfast/bin/holdfast-run']);
    const required = listAt(supervisedPod(pod, { ...supervisor, isRequired: true }), 'spec', 'initContainers')[1];
    expect(textsAt(required, 'command')[1]).toBe('--require');
  });

  it('asks for no more than the trainer, and keeps its quality of service', () => {
    const common = { limits: { cpu: 4, memory: '8Gi' }, requests: { cpu: 4, memory: '8Gi' } };
    for (const container of [install, check]) expect(at(container, 'resources')).toEqual(common);
  });

  it('mounts the programs read-only, and its annotations', () => {
    expect(listAt(trainer, 'volumeMounts')).toEqual([
      MOUNT,
      { name: 'holdfast-bin', mountPath: '/holdfast/bin', readOnly: true },
      { name: 'holdfast-pod', mountPath: '/holdfast/pod', readOnly: true },
    ]);
    expect(listAt(made, 'spec', 'volumes').map((volume) => textAt(volume, 'name'))).toEqual(['data', 'holdfast-bin', 'holdfast-pod']);
  });

  it('is recognised as supervised by its command', () => {
    expect(startsSupervisor(textsAt(trainer, 'command'))).toBe(true);
    expect(startsSupervisor(['python', 'holdfast-run'])).toBe(false);
  });
});

describe('the test of the supervisor in a pod', () => {
  const resultOf = (...ends: readonly (Fields | null)[]) => {
    const names = ['holdfast-install', 'holdfast-check'];
    const initContainerStatuses = names.map((name, index) => ({ name, state: ends[index] == null ? {} : { terminated: ends[index] } }));
    const object = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p', uid: 'u' },
      spec: { initContainers: names.map((name) => ({ name })) },
      status: { initContainerStatuses },
    };
    const read = objectOf(object);
    return read === null ? null : checkResultOf(readPod(read));
  };

  it('has passed when both containers ended without a word', () => {
    expect(resultOf(null)).toEqual({ kind: 'waiting' });
    expect(resultOf({ exitCode: 0 }, null)).toEqual({ kind: 'waiting' });
    expect(resultOf({ exitCode: 0 }, { exitCode: 0 })).toEqual({ kind: 'passed' });
    expect(resultOf({ exitCode: 0 }, { exitCode: 1, message: 'FAILED: cannot write' })).toEqual({ kind: 'waiting' });
  });

  it('refuses with the words of the launcher', () => {
    expect(resultOf({ exitCode: 1, message: 'NOEXEC: mounted with noexec' })).toEqual({
      kind: 'refused',
      reason: { code: 'NOEXEC', what: 'mounted with noexec' },
    });
    expect(resultOf({ exitCode: 0 }, { exitCode: 0, message: 'NOT_RUNNABLE: it ended with exit code 127' })).toMatchObject({
      reason: { code: 'NOT_RUNNABLE' },
    });
  });

  it('is of no interest in a pod without it', () => {
    const read = objectOf({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', uid: 'u' }, spec: { containers: [] } });
    expect(read === null ? undefined : checkResultOf(readPod(read))).toBeNull();
  });
});
