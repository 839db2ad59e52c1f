import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LAUNCHER, runProcess } from '../support/run-process.ts';
import { type Cluster, startCluster } from './cluster/cluster.ts';
import { whyNotBuilt } from './cluster/facility.ts';
import { BASE_IMAGE } from './cluster/runtime.ts';
import { eventually } from './cluster/wait.ts';
import { nodeNamed } from './scenario/cause.ts';
import { JOBS, PODS, podsOf, setTaints } from './scenario/objects.ts';

const reason = whyNotBuilt();
const FINALIZER = 'holdfast.test/looked-at';
/** Traps SIGTERM and exits with 0, as people write it; ready once it does. */
const POLITE = `trap 'exit 0' TERM; touch /tmp/ready; while :; do /busybox/sleep 0.1; done`;
/** The nodes, by what is done to them. */
const [GENERAL, TAINTED, SHUT_DOWN] = ['node-1', 'node-2', 'node-3'];
const SHUTDOWN_SECONDS = 8;

interface Wish {
  readonly node?: string;
  readonly script?: string;
  readonly image?: string;
  readonly limits?: Readonly<Record<string, string>>;
  readonly sizeLimit?: string;
}

describe.skipIf(reason !== null)(`why and grace on a real cluster${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await startCluster({ nodes: [{ kubelet: { volumeStatsAggPeriod: '2s' } }, {}, { shutdownGraceSeconds: SHUTDOWN_SECONDS }] });
  });
  afterAll(() => cluster?.[Symbol.asyncDispose]());

  /** Makes a Job with one pod that stays until it was looked at, and waits until it runs. */
  async function startJob(name: string, { node = GENERAL, script = POLITE, image = BASE_IMAGE, limits, sizeLimit }: Wish): Promise<void> {
    await cluster.api.create(JOBS, {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name },
      spec: {
        backoffLimit: 0,
        podFailurePolicy: { rules: [{ action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget' }] }] },
        template: {
          metadata: { finalizers: [FINALIZER] },
          spec: {
            restartPolicy: 'Never',
            nodeSelector: { 'kubernetes.io/hostname': node },
            terminationGracePeriodSeconds: 20,
            volumes: [{ name: 'tmp', emptyDir: sizeLimit === undefined ? {} : { sizeLimit } }],
            containers: [
              {
                name: 'trainer',
                image,
                imagePullPolicy: 'Never',
                command: ['/busybox/sh', '-c', script],
                volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }],
                readinessProbe: { exec: { command: ['/busybox/test', '-e', '/tmp/ready'] }, periodSeconds: 1 },
                ...(limits === undefined ? {} : { resources: { limits } }),
              },
            ],
          },
        },
      },
    });
  }

  async function podOf(job: string): Promise<string> {
    const pod = await eventually(`a pod of ${job}`, async () => (await podsOf(cluster, job))[0] ?? null);
    return pod.metadata.name;
  }

  async function whenReady(job: string): Promise<string> {
    const pod = await podOf(job);
    await eventually(`${pod} to be ready`, async () => {
      const conditions = ((await cluster.api.get(`${PODS}/${pod}`))?.status?.conditions ?? []) as readonly {
        type: string;
        status: string;
      }[];
      return conditions.some(({ type, status }) => type === 'Ready' && status === 'True') ? true : null;
    });
    return pod;
  }

  async function whenOver(pod: string): Promise<void> {
    await eventually(`the end of ${pod}`, async () =>
      /^(Succeeded|Failed)$/.test(String((await cluster.api.get(`${PODS}/${pod}`))?.status?.phase)) ? true : null,
    );
  }

  /**
   * What the command answers, in the network of the cluster, as a person beside it would type it.
   */
  async function ask(
    ...args: readonly string[]
  ): Promise<{ readonly code: number | null; readonly data: Record<string, unknown>; readonly said: string }> {
    const [program = '', ...rest] = cluster.inNetwork([LAUNCHER, ...args, `--kubeconfig=${cluster.kubeconfig}`, '--json']);
    const { code, stdout, stderr } = await runProcess(program, rest);
    return { code, data: stdout === '' ? {} : (JSON.parse(stdout) as Record<string, unknown>), said: stderr };
  }

  async function expectCause(job: string, cause: string, more: object = {}): Promise<void> {
    const { code, data, said } = await ask('why', `job/${job}`);
    expect({ code, said, ends: data['ends'] }).toMatchObject({ code: 0, said: '', ends: [{ cause, confidence: 'certain', ...more }] });
  }

  it('why distinguishes a deletion from an eviction if both pods exited with 0, and calls both Jobs unfinished', async () => {
    for (const job of ['deleted', 'drained']) await startJob(job, {});
    const [deleted, drained] = [await whenReady('deleted'), await whenReady('drained')];
    await cluster.api.remove(`${PODS}/${deleted}`);
    await cluster.api.create(`${PODS}/${drained}/eviction`, {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name: drained, namespace: 'default' },
    });
    for (const pod of [deleted, drained]) await whenOver(pod);
    const { data } = await ask('why', 'job/deleted');
    expect(data['ends']).toMatchObject([{ cause: 'POD_DELETED', confidence: 'likely', isUnfinished: true }]);
    await expectCause('drained', 'API_EVICTION', { isUnfinished: true, fit: { graceMs: 20_000 } });
  });

  it('why names a taint', async () => {
    await startJob('tainted', { node: TAINTED });
    const pod = await whenReady('tainted');
    await setTaints(cluster, TAINTED, [{ key: 'holdfast.test/maintenance', effect: 'NoExecute' }]);
    await whenOver(pod);
    await expectCause('tainted', 'NODE_TAINT', { isUnfinished: true });
  });

  it('why names a shutdown of the node, and grace shows the limit of the kubelet’s own settings', async () => {
    await startJob('shut-down', { node: SHUT_DOWN });
    const pod = await whenReady('shut-down');
    const { data } = await ask('grace', `pod/${pod}`);
    expect(data['pods']).toMatchObject([
      { causes: expect.arrayContaining([expect.objectContaining({ cause: 'shutdown', graceMs: 1000 * SHUTDOWN_SECONDS })]) as unknown },
    ]);
    await nodeNamed(cluster, SHUT_DOWN).announceShutdown(true);
    await whenOver(pod);
    await expectCause('shut-down', 'MACHINE_SHUTDOWN', { isUnfinished: true });
    await nodeNamed(cluster, SHUT_DOWN).announceShutdown(false);
  });

  it('why names an emptyDir above its limit', async () => {
    await startJob('outgrown', { sizeLimit: '4Mi', script: `/busybox/head -c 16000000 /dev/zero > /tmp/filling; ${POLITE}` });
    await whenOver(await podOf('outgrown'));
    await expectCause('outgrown', 'EMPTY_DIR_LIMIT');
  });

  it('why names a suspended Job', async () => {
    await startJob('suspended', {});
    const pod = await whenReady('suspended');
    await cluster.api.patch(`${JOBS}/suspended`, { spec: { suspend: true } });
    await whenOver(pod);
    await expectCause('suspended', 'JOB_SUSPENDED');
  });

  it('why names a trainer that fails by itself, and one with a missing image', async () => {
    await startJob('failed', { script: 'exit 3' });
    await startJob('no-image', { image: 'holdfast.test/nowhere:1' });
    await whenOver(await podOf('failed'));
    const stuck = await podOf('no-image');
    await eventually(`${stuck} to wait for its image`, async () =>
      (await cluster.api.get(`${PODS}/${stuck}`))?.status?.containerStatuses?.[0]?.state?.waiting?.reason === 'ErrImageNeverPull'
        ? true
        : null,
    );
    await expectCause('failed', 'TRAINER_FAILED');
    await expectCause('no-image', 'IMAGE_NOT_PULLED');
  });

  it('why calls a pod finished that ended before the deletion of its Job', async () => {
    await startJob('cleared', { script: '/busybox/sleep 1' });
    const pod = await podOf('cleared');
    await whenOver(pod);
    await cluster.api.remove(`${JOBS}/cleared?propagationPolicy=Background`);
    await eventually(`${pod} to be deleted`, async () =>
      (await cluster.api.get(`${PODS}/${pod}`))?.metadata.deletionTimestamp === undefined ? null : true,
    );
    const { data } = await ask('why', `pod/${pod}`);
    expect(data['ends']).toMatchObject([{ cause: 'FINISHED', isUnfinished: false }]);
  });

  it('grace judges every object that makes pods, in all namespaces', async () => {
    await startJob('judged', {});
    const { data } = await ask('grace', '-A');
    expect(data['pods']).toEqual(expect.arrayContaining([expect.objectContaining({ subject: 'job/judged in default' })]));
  });

  it('a missing context is an error that names the existing ones', async () => {
    const { code, said } = await ask('why', 'job/failed', '--context=no-such-context');
    expect(code).toBe(66);
    expect(said).toContain('no-such-context');
  });
});
