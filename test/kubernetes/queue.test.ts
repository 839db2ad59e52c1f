import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { StatusAnswer } from '../../src/cli/commands/queue/answers.ts';
import { openSqlite } from '../../src/queue/backends/sqlite/store.ts';
import { auditStore } from '../queue/audit-store.ts';
import { Running } from '../queue/processes.ts';
import { LAUNCHER, ROOT, runProcess } from '../support/run-process.ts';
import type { KubeObject } from './cluster/api.ts';
import { type Cluster, startCluster } from './cluster/cluster.ts';
import { whenReady } from './cluster/node.ts';
import { CONTROL_PLANE_IP } from './cluster/network.ts';
import { BASE_IMAGE } from './cluster/runtime.ts';
import { eventually } from './cluster/wait.ts';
import { nodeNamed } from './scenario/cause.ts';
import { hostTrees, whyNoTrainers } from './scenario/host-trees.ts';
import { defineKeda, findKeda } from './scenario/keda.ts';
import { JOBS, PODS, podsOf, trueConditions } from './scenario/objects.ts';
import { recordRun } from './scenario/queue-page.ts';

const reason = whyNoTrainers();
const keda = reason === null ? findKeda() : { missing: reason };
const EXAMPLE = join(ROOT, 'examples/queue/kubernetes');
const ITEMS = 2000;
const WORKERS = 6;
const JOB = 'queue-workers';
const SCALED_JOB = `/apis/keda.sh/v1alpha1/namespaces/default/scaledjobs/${JOB}`;
const SECRETS = '/api/v1/namespaces/default/secrets';
/** The server has its own node, because the tests lose the workers' nodes. */
const SERVER = 'node-1';
/** The control plane notices a lost node soon; by default that takes minutes. */
const TIMERS = { 'node-monitor-grace-period': '15s', 'node-eviction-rate': '10', 'unhealthy-zone-threshold': '1' };
const SOON_GIVEN_UP = [{ key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 1 }];
const WORKER = `
import holdfast, time
for item in holdfast.work("images"):
    time.sleep(0.1)
    item.done({"key": item.key})
`;

interface Workload {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>> & {
    readonly template: {
      readonly metadata?: object;
      readonly spec: {
        readonly volumes: readonly object[];
        readonly containers: readonly [{ readonly env: readonly object[]; readonly volumeMounts: readonly object[] }];
      };
    };
  };
}

function example(file: string): readonly Workload[] {
  return parseAllDocuments(readFileSync(join(EXAMPLE, file), 'utf8')).map((document) => document.toJS() as Workload);
}

interface PodWish {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The node selector. */
  readonly node: object;
  /** The folder of the machine that it writes to. */
  readonly folder?: string;
}

/** The pod of an example, with the machine’s own programs in place of its image. */
function podOf({ spec }: Workload, { command, env, node, folder }: PodWish): object {
  const { path, mounts, volumes } = hostTrees();
  const own = folder === undefined ? [] : [folder];
  const pod = spec.template.spec;
  const [container] = pod.containers;
  const more = Object.entries({ PATH: path, PYTHONDONTWRITEBYTECODE: '1', ...env }).map(([name, value]) => ({
    name,
    value,
  }));
  const names = new Set(more.map(({ name }) => name));
  return {
    ...pod,
    nodeSelector: undefined,
    ...node,
    volumes: [...pod.volumes, ...volumes, ...own.map((of) => ({ name: 'own', hostPath: { path: of } }))],
    containers: [
      {
        ...container,
        image: BASE_IMAGE,
        imagePullPolicy: 'Never',
        command,
        resources: undefined,
        env: [...container.env.filter((entry) => !('name' in entry && names.has(String(entry.name)))), ...more],
        volumeMounts: [...container.volumeMounts, ...mounts, ...own.map((mountPath) => ({ name: 'own', mountPath }))],
      },
    ],
  };
}

/** How many items are done in the last whole line. */
function doneIn(lines: string): number {
  const line = lines.split('\n').at(-2);
  return line === undefined ? 0 : (JSON.parse(line) as StatusAnswer).counts.done;
}

describe.skipIf(reason !== null)(`a queue on a real cluster${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  let cluster: Cluster;
  let url = '';
  const token = { owner: 'owner-token-of-a-cluster-test', worker: 'worker-token-of-a-cluster-test', postgres: 'not-used' };

  beforeAll(async () => {
    cluster = await startCluster({ nodes: [{}, {}, {}, {}], controllerManager: TIMERS });
    await cluster.api.create(SECRETS, { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'queue' }, stringData: token });
    writeFileSync(join(cluster.folder, 'owner'), token.owner);
    mkdirSync(join(cluster.shared, 'queue'));
    await apply('watch-pods.yaml');
  });
  afterAll(() => cluster?.[Symbol.asyncDispose]());

  const database = (): string => join(cluster.shared, 'queue', 'queue.db');

  function apply(file: string, ...flags: readonly string[]): Promise<string> {
    return cluster.run([...cluster.kubectlCommand, 'apply', '-f', join(EXAMPLE, file), ...flags]);
  }

  function ownerEnv(): Readonly<Record<string, string | undefined>> {
    return { ...process.env, HOLDFAST_QUEUE_URL: url, HOLDFAST_QUEUE_TOKEN_FILE: join(cluster.folder, 'owner') };
  }

  /** Runs a command of the queue's owner in the cluster's network. */
  async function queue(
    args: readonly string[],
    input?: string,
  ): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> {
    const [program = '', ...rest] = cluster.inNetwork([LAUNCHER, 'queue', ...args]);
    return runProcess(program, rest, { env: ownerEnv(), ...(input === undefined ? {} : { input }) });
  }

  async function status(): Promise<StatusAnswer> {
    const { stdout, stderr } = await queue(['status', 'images', '--json']);
    if (stdout === '') throw new Error(stderr);
    return JSON.parse(stdout) as StatusAnswer;
  }

  async function startServer(): Promise<void> {
    const [server] = example('server.yaml');
    if (server === undefined) throw new Error('the example has no server');
    const command = [
      join(ROOT, 'node_modules/.bin/node'),
      '--disable-warning=ExperimentalWarning',
      join(ROOT, 'src/cli/main.ts'),
      'queue',
      'serve',
    ];
    const args = [
      `--db=${database()}`,
      '--listen=0.0.0.0:9500',
      '--token-file=/secrets/owner',
      '--worker-token-file=/secrets/worker',
      '--watch-pods',
    ];
    // This cluster has no services, so the API server is addressed directly.
    const env = { KUBERNETES_SERVICE_HOST: CONTROL_PLANE_IP, KUBERNETES_SERVICE_PORT: '6443' };
    const spec = podOf(server, { command: [...command, ...args], env, node: { nodeName: SERVER }, folder: join(cluster.shared, 'queue') });
    await cluster.api.create(PODS, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'queue' }, spec });
    const pod = await eventually('the queue server', async () => {
      const found = await cluster.api.get(`${PODS}/queue`);
      return trueConditions(found).some(({ type }) => type === 'Ready') ? found : null;
    });
    url = `http://${String(pod.status?.podIP)}:9500`;
  }

  async function startWorkers(): Promise<void> {
    const [job] = example('workers.yaml');
    if (job === undefined) throw new Error('the example has no workers');
    const env = { HOLDFAST_QUEUE_URL: url, PYTHONPATH: join(ROOT, 'python') };
    const elsewhere = { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'NotIn', values: [SERVER] }] };
    const node = {
      tolerations: SOON_GIVEN_UP,
      affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [elsewhere] } } },
    };
    const spec = {
      ...job.spec,
      parallelism: WORKERS,
      completions: WORKERS,
      template: { spec: podOf(job, { command: ['python3', '-c', WORKER], env, node }) },
    };
    await cluster.api.create(JOBS, { ...job, spec });
  }

  /** The status twice a second, from one process: on a busy machine each start takes long. */
  function followStatus(): Running {
    const [program = '', ...rest] = cluster.inNetwork([LAUNCHER, 'queue', 'status', 'images', '--follow', '--json']);
    return new Running(spawn(program, rest, { stdio: ['ignore', 'pipe', 'pipe'], env: ownerEnv() }));
  }

  /** Waits until this many items are done, and returns a worker that runs then. */
  async function workerAfter(done: number, followed: Running): Promise<KubeObject> {
    await eventually(`${done} items`, () => (doneIn(followed.stdout) >= done ? true : null));
    return eventually('a running worker', async () => {
      const pods = await podsOf(cluster, JOB);
      return pods.find(({ status: now, metadata }) => now?.phase === 'Running' && metadata.deletionTimestamp === undefined) ?? null;
    });
  }

  it('the API server accepts the examples, and the service account may watch', async () => {
    for (const file of ['postgres.yaml', 'server.yaml', 'workers.yaml']) await apply(file, '--dry-run=server', '--validate=strict');
    const may = (...words: readonly string[]): Promise<string> =>
      cluster.run([...cluster.kubectlCommand, 'auth', 'can-i', ...words, '--as=system:serviceaccount:default:queue']);
    for (const what of ['pods', 'nodes']) expect((await may('watch', what)).trim()).toBe('yes');
    await expect(may('delete', 'pods')).rejects.toThrow();
  });

  it.skipIf('missing' in keda)(
    `KEDA's own kinds accept the scaler, which names the namespace of the server${'missing' in keda ? ` (skipped: ${keda.missing})` : ''}`,
    async () => {
      await defineKeda(cluster, 'module' in keda ? keda.module : '');
      await apply('scaler.yaml', '--dry-run=server', '--validate=strict');
      await apply('scaler.yaml');
      const { spec } = (await cluster.api.get(SCALED_JOB)) ?? {};
      const [trigger] = spec.triggers as readonly [{ readonly metadata: Readonly<Record<string, string>> }];
      expect(trigger.metadata).toMatchObject({ valueLocation: 'open', authMode: 'bearer' });
      // KEDA asks from a namespace of its own.
      expect(trigger.metadata['url']).toMatch(/^http:\/\/queue\.[a-z]+:9500\/v1\/queues\/images$/);
      await cluster.api.remove(SCALED_JOB);
    },
  );

  it(`computes ${ITEMS} items once each while pods are deleted and evicted and their node is lost, and sets none aside`, async ({
    annotate,
  }) => {
    await startServer();
    const keys = Array.from({ length: ITEMS }, (_, n) => n);
    expect((await queue(['push', 'images', '-', '--key=n'], keys.map((n) => `{"n":${n}}\n`).join(''))).code).toBe(0);
    await startWorkers();

    const started = performance.now();
    await using followed = followStatus();
    const [deleted, evicted] = [
      [100, 250],
      [400, 550],
    ];
    for (const done of deleted) await cluster.api.remove(`${PODS}/${(await workerAfter(done, followed)).metadata.name}`);
    for (const done of evicted) {
      const { name } = (await workerAfter(done, followed)).metadata;
      const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace: 'default' } };
      await cluster.api.create(`${PODS}/${name}/eviction`, eviction);
    }
    const lost = nodeNamed(cluster, String((await workerAfter(700, followed)).spec?.nodeName));
    await lost.loseEverything();
    await workerAfter(900, followed);
    const seen = await eventually('the pods of the lost node to be given up', async () => {
      const pods = (await podsOf(cluster, JOB)).filter(({ spec }) => spec?.nodeName === lost.name);
      return pods.every(({ metadata }) => metadata.deletionTimestamp !== undefined) ? pods.length : null;
    });
    expect(seen).toBeGreaterThan(0);
    lost.startKubelet();
    await whenReady(cluster.api, lost);

    expect((await queue(['wait', 'images', '--timeout=10m'])).code).toBe(0);
    const seconds = (performance.now() - started) / 1000;
    const ended = await status();
    const { counts } = ended;
    expect(counts).toEqual({ ready: 0, delayed: 0, leased: 0, done: ITEMS, failed: 0, aside: 0, cancelled: 0 });
    await eventually('the Job to be complete', async () =>
      trueConditions(await cluster.api.get(`${JOBS}/${JOB}`)).some(({ type }) => type === 'Complete') ? true : null,
    );
    await audit(keys);
    const { givenBack, lost: unannounced, lostMs, failures, refused } = ended;
    expect({ failures, refused }).toEqual({ failures: 0, refused: 0 });
    const numbers = {
      version: cluster.version,
      items: ITEMS,
      done: counts.done,
      aside: counts.aside,
      workers: WORKERS,
      nodes: cluster.nodes.length - 1,
      deleted: deleted.length,
      evicted: evicted.length,
      onLostNode: seen,
      givenBack,
      lost: unannounced,
      lostMs,
      seconds,
    };
    recordRun(numbers);
    await annotate(JSON.stringify(numbers));
  });

  /**
   * Expects one result for each item and a history that adds up, and counts no interruption as a
   * death.
   */
  async function audit(keys: readonly number[]): Promise<void> {
    await cluster.api.remove(`${PODS}/queue`);
    await eventually('the end of the server', async () => ((await cluster.api.get(`${PODS}/queue`)) === null ? true : null));
    await using store = openSqlite(database());
    const items = keys.map((n) => ({ key: String(n), value: JSON.stringify({ n }) }));
    expect(await auditStore(store, 'images', items)).toMatchObject({ done: ITEMS, faults: [] });
    const { id = 0 } = (await store.findQueue('images')) ?? {};
    const stories = await Promise.all(items.map(({ key }) => store.story(id, key)));
    expect(stories.filter((story) => story?.results[0]?.result !== JSON.stringify({ key: story?.key }))).toEqual([]);
    const histories = await Promise.all(stories.map((story) => store.history(story?.item ?? 0, 100)));
    expect(histories.flat().filter(({ isDeath }) => isDeath)).toEqual([]);
    const reasons = new Set(histories.flat().map(({ detail }) => detail));
    expect(reasons).toContain('SIGTERM');
  }
});
