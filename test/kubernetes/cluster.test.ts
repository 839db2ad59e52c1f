import { existsSync, lstatSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT, runProcess } from '../support/run-process.ts';
import type { KubeObject } from './cluster/api.ts';
import { cgroupVersion } from './cluster/cgroups.ts';
import { type Cluster, startCluster } from './cluster/cluster.ts';
import { findFacility } from './cluster/facility.ts';
import { cgroupOf } from './cluster/leftovers.ts';
import { whenReady } from './cluster/node.ts';
import { whenNothingIsLeft } from './cluster/nothing-left.ts';
import { BASE_IMAGE } from './cluster/runtime.ts';
import { type Traces, tracesOf } from './cluster/traces.ts';
import { eventually } from './cluster/wait.ts';
import { hostTrees, whyNoTrainers } from './scenario/host-trees.ts';
import { NODES, PODS } from './scenario/objects.ts';

const reason = whyNoTrainers();
/** With version 2 a kubelet has the kernel end a container as a whole (`memory.oom.group`). */
const IS_ALL_ENDED = cgroupVersion() === 2;
/** Its name is known a while after it runs. */
const FIND_ITSELF = `
import socket, time
while True:
    try:
        print(socket.gethostbyname("leader.workers"))
        break
    except socket.gaierror:
        time.sleep(0.2)
`;
/** To an address that nobody has. */
const LEAVE = `
import socket
try:
    socket.create_connection(("192.0.2.1", 80), 60)
except OSError as error:
    print(error.strerror)
`;

const EAT = `
pieces = []
while True:
    pieces.append(b'x' * (8 << 20))
`;
const READ_MEMORY = `
import { containerMemory } from '${ROOT}src/supervisor/container-memory.ts';
console.log(JSON.stringify(containerMemory()));
`;

/** What the daemons of a cluster, and kubectl, make wherever they are not told otherwise, and where those that a machine has itself are quiet. */
const OUTSIDE = [
  '/etc/cni',
  '/etc/containerd',
  '/etc/kubernetes',
  '/opt/cni',
  '/opt/containerd',
  '/usr/libexec/kubernetes',
  '/default.etcd',
];
/** Where a kubectl of somebody's writes at any time, but makes a folder only for a server that it has not seen before. */
const SERVERS = join(homedir(), '.kube/cache/discovery');
/** Where a containerd, or another cluster, writes at any time: clusters have folders of their own in these places. */
const HIDDEN = ['/run', '/var/lib', '/var/log'];

/** All that is there, with what changes when somebody writes. */
function outside(): readonly string[] {
  const below = OUTSIDE.flatMap((path) => [path, ...(existsSync(path) ? namesIn(path, true).map((name) => join(path, name)) : [])]);
  const written = below.map((path) => {
    const found = lstatSync(path, { throwIfNoEntry: false });
    return found === undefined ? `${path} is not there` : `${path} ${found.size} ${found.mtimeMs}`;
  });
  return [...written, ...(existsSync(SERVERS) ? namesIn(SERVERS, false) : [])].toSorted();
}

function namesIn(folder: string, recursive: boolean): readonly string[] {
  return readdirSync(folder, { recursive, encoding: 'utf8' });
}

const seen = (cluster: Cluster, network: string): Traces => tracesOf({ folder: cluster.folder, cgroup: cgroupOf(cluster.id), network });

interface PodWish {
  readonly command: readonly string[];
  readonly memoryMiB?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly nodeName?: string;
  readonly hostname?: string;
  readonly subdomain?: string;
}

/** Runs a command in a pod with the machine's programs, to its end. */
async function runPod(cluster: Cluster, name: string, { command, memoryMiB, labels = {}, ...spec }: PodWish): Promise<KubeObject> {
  const trees = hostTrees();
  await cluster.api.create(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels },
    spec: {
      restartPolicy: 'Never',
      containers: [
        {
          name: 'main',
          image: BASE_IMAGE,
          imagePullPolicy: 'Never',
          command,
          env: [{ name: 'PATH', value: trees.path }],
          resources: memoryMiB === undefined ? {} : { limits: { memory: `${memoryMiB}Mi` } },
          volumeMounts: trees.mounts,
        },
      ],
      volumes: trees.volumes,
      ...spec,
    },
  });
  return eventually(`the end of the pod ${name}`, async () => {
    const pod = await cluster.api.get(`${PODS}/${name}`);
    return /^(Succeeded|Failed)$/.test(String(pod?.status?.phase)) ? pod : null;
  });
}

describe.skipIf(reason !== null)(`a real cluster${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  let cluster: Cluster;
  let network: string;
  let before: readonly string[];
  beforeAll(async () => {
    before = outside();
    cluster = await startCluster({
      nodes: [
        { labels: { disk: 'small' }, diskMiB: 300 },
        { resources: { 'nvidia.com/gpu': 4 }, taints: [{ key: 'spot', value: 'yes', effect: 'NoSchedule' }] },
      ],
      apiServer: { 'default-not-ready-toleration-seconds': '77' },
    });
    network = (await cluster.run(['readlink', '/proc/self/ns/net'])).trim();
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  it('is the Kubernetes that was built, with the nodes that were asked for', async () => {
    const version = JSON.parse((await cluster.api.text('/version')) ?? '{}') as { readonly gitVersion: string };
    expect(version.gitVersion).toBe(cluster.version);
    const [first, second] = await cluster.api.list(NODES);
    expect(first?.metadata.labels).toMatchObject({ disk: 'small' });
    expect(second?.spec?.taints).toEqual([{ key: 'spot', value: 'yes', effect: 'NoSchedule' }]);
    expect(second?.status?.allocatable['nvidia.com/gpu']).toBe('4');
    expect(first?.status?.allocatable['nvidia.com/gpu']).toBeUndefined();
    expect(first?.status?.nodeInfo.kubeletVersion).toBe(cluster.version);
    const size = String(first?.status?.capacity['ephemeral-storage']).match(/^(\d+)Ki$/)?.[1];
    expect(Number(size) / 1024).toBeLessThan(300);
  });

  it.each(['node-1', 'node-2'])('runs the machine’s own Python in a pod on %s', async (nodeName) => {
    const pod = await runPod(cluster, `python-${nodeName}`, { command: ['python3', '-c', 'print(6 * 7)'], nodeName });
    expect(pod.status, JSON.stringify(pod.status)).toMatchObject({ phase: 'Succeeded' });
    expect(await cluster.api.text(`${PODS}/python-${nodeName}/log`)).toBe('42\n');
  });

  it('has the API server’s flags that were asked for', async () => {
    const spec = { containers: [{ name: 'main', image: BASE_IMAGE }] };
    const pod = await cluster.api.create(`${PODS}?dryRun=All`, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'patient' }, spec });
    const notReady = { key: 'node.kubernetes.io/not-ready', tolerationSeconds: 77 };
    expect(pod.spec?.tolerations).toContainEqual(expect.objectContaining(notReady));
  });

  it('is reached from its network by any kubectl that has its kubeconfig', async () => {
    const [program = '', ...args] = cluster.inNetwork([findFacility().program('kubectl'), 'get', 'nodes', '--output=name']);
    const env = { PATH: process.env['PATH'], HOME: cluster.folder, KUBECONFIG: cluster.kubeconfig, NO_PROXY: '*' };
    expect(await runProcess(program, args, { env })).toEqual({ code: 0, stdout: 'node/node-1\nnode/node-2\n', stderr: '' });
  });

  it('lets no pod write to the trees of the machine that it has', async () => {
    const folders = (hostTrees().mounts as readonly { readonly mountPath: string }[]).map(({ mountPath }) => mountPath);
    const script = 'for folder; do /busybox/touch "$folder/written-by-a-pod" || true; done';
    const pod = await runPod(cluster, 'writer', { command: ['/busybox/sh', '-c', script, 'sh', ...folders] });
    expect(pod.status, JSON.stringify(pod.status)).toMatchObject({ phase: 'Succeeded' });
    const said = (await cluster.api.text(`${PODS}/writer/log`)) ?? '';
    expect(said).toBe(folders.map((folder) => `touch: ${folder}/written-by-a-pod: Read-only file system\n`).join(''));
  });

  it('tells the exit code and the reason of a pod that fails', async () => {
    const pod = await runPod(cluster, 'failing', { command: ['/busybox/sh', '-c', 'echo why > /dev/termination-log; exit 7'] });
    expect(pod.status.phase).toBe('Failed');
    expect(pod.status.containerStatuses[0].state.terminated).toMatchObject({ exitCode: 7, reason: 'Error', message: 'why\n' });
    expect(pod.spec.nodeName).toBe('node-1');
  });

  it('shows a container its own memory where Holdfast reads it', async () => {
    // The runtime that is pinned lies in the tree that pods see; whichever runs the tests may not.
    const command = [join(ROOT, 'node_modules/.bin/node'), '--input-type=module', '--eval', READ_MEMORY];
    const pod = await runPod(cluster, 'reader', { command, memoryMiB: 256 });
    expect(pod.status, JSON.stringify(pod.status)).toMatchObject({ phase: 'Succeeded' });
    const memory = JSON.parse((await cluster.api.text(`${PODS}/reader/log`)) ?? 'null') as { readonly usedBytes: number };
    expect(memory).toMatchObject({ limitBytes: 256 * 2 ** 20 });
    // A running Node, and not what all others have.
    expect(memory.usedBytes).toBeGreaterThan(2 ** 20);
    expect(memory.usedBytes).toBeLessThan(256 * 2 ** 20);
  });

  it(`ends ${IS_ALL_ENDED ? 'all of a container' : 'the one process'} that takes more memory than it may, with this version of control groups`, async () => {
    const command = ['sh', '-c', `python3 -c "${EAT}"; echo "it ended with $?" > /dev/termination-log; exit 3`];
    const pod = await runPod(cluster, 'eater', { command, memoryMiB: 64 });
    const { exitCode, message } = pod.status.containerStatuses[0].state.terminated;
    expect({ exitCode, message }).toEqual(IS_ALL_ENDED ? { exitCode: 137 } : { exitCode: 3, message: 'it ended with 137\n' });
  });

  it('has names for the pods of a headless service, and no way out', async () => {
    await cluster.api.create('/api/v1/namespaces/default/services', {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'workers' },
      spec: { clusterIP: 'None', selector: { app: 'worker' }, publishNotReadyAddresses: true },
    });
    const pod = await runPod(cluster, 'leader', {
      command: ['python3', '-c', FIND_ITSELF],
      labels: { app: 'worker' },
      hostname: 'leader',
      subdomain: 'workers',
    });
    expect(await cluster.api.text(`${PODS}/leader/log`)).toBe(`${pod.status.podIP}\n`);
    await runPod(cluster, 'leaver', { command: ['python3', '-c', LEAVE] });
    expect(await cluster.api.text(`${PODS}/leaver/log`)).toBe('Network is unreachable\n');
  });

  it('runs a pod on while its kubelet is away, which finds it again when it is back', async () => {
    const [first] = cluster.nodes;
    const command = ['/busybox/sh', '-c', 'while [ ! -e /shared/go ]; do /busybox/sleep 0.1; done; echo > /shared/gone'];
    const container = { name: 'main', image: BASE_IMAGE, imagePullPolicy: 'Never', command };
    const volumes = [{ name: 'shared', hostPath: { path: cluster.shared } }];
    const containers = [{ ...container, volumeMounts: [{ name: 'shared', mountPath: '/shared' }] }];
    const spec = { restartPolicy: 'Never', nodeName: first?.name, containers, volumes };
    await cluster.api.create(PODS, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'waiting' }, spec });
    const inPhase = (phase: string): Promise<true> =>
      eventually(`the phase ${phase}`, async () => ((await cluster.api.get(`${PODS}/waiting`))?.status?.phase === phase ? true : null));
    await inPhase('Running');
    await first?.stopKubelet();
    writeFileSync(join(cluster.shared, 'go'), '');
    await eventually('the end of its process', () => (existsSync(join(cluster.shared, 'gone')) ? true : null));
    expect((await cluster.api.get(`${PODS}/waiting`))?.status?.phase).toBe('Running');
    first?.startKubelet();
    await inPhase('Succeeded');
  });

  it('has all that its node is to offer again when that was deleted, and its kubelet is back', async () => {
    const [, second] = cluster.nodes;
    if (second === undefined) throw new Error('there is no second node');
    await second.stopKubelet();
    await cluster.api.remove(`${NODES}/${second.name}`);
    second.startKubelet();
    await whenReady(cluster.api, second);
    expect((await cluster.api.get(`${NODES}/${second.name}`))?.status?.allocatable['nvidia.com/gpu']).toBe('4');
  });

  it('can have another beside it, which is taken down without a trace while the first lives on', async () => {
    const other = await startCluster({ nodes: [{}] });
    const itsNetwork = (await other.run(['readlink', '/proc/self/ns/net'])).trim();
    const pod = await runPod(other, 'hello', { command: ['/busybox/true'] });
    expect(pod.status.phase).toBe('Succeeded');
    expect(seen(other, itsNetwork).loopDevices).toHaveLength(1);
    await other[Symbol.asyncDispose]();
    await whenNothingIsLeft(() => seen(other, itsNetwork));
    expect(existsSync(other.folder)).toBe(false);
    expect(seen(cluster, network).loopDevices).toHaveLength(2);
    expect((await runPod(cluster, 'still-there', { command: ['/busybox/true'] })).status.phase).toBe('Succeeded');
  });

  it('writes nothing outside of its own folder', async () => {
    await cluster.run([...cluster.kubectlCommand, 'get', 'pods']);
    expect(outside()).toEqual(before);
    const [machine, own] = [HIDDEN.map((path) => String(statSync(path).dev)), await cluster.run(['stat', '--format=%d', ...HIDDEN])];
    expect(own.trim().split('\n')).toHaveLength(HIDDEN.length);
    for (const device of own.trim().split('\n')) expect(machine).not.toContain(device);
  });
});
