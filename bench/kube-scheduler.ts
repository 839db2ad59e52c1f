import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { wrap } from '../src/cli/output/table.ts';
import { Cluster } from '../src/scheduler/cluster/cluster.ts';
import { clusterInputOf } from '../src/scheduler/objects/cluster-input.ts';
import { scheduleAll } from '../src/scheduler/schedule-all.ts';
import { type Cluster as RealCluster, startCluster } from '../test/kubernetes/cluster/cluster.ts';
import { buildFacility, whyNoNamespaces } from '../test/kubernetes/cluster/facility.ts';
import { inParallel } from '../test/kubernetes/cluster/in-parallel.ts';
import { eventually } from '../test/kubernetes/cluster/wait.ts';
import { isRefused } from '../test/kubernetes/foretold/play.ts';
import { type GpuCluster, readAll, tracedCluster } from './support/gpu-cluster.ts';
import { replaceSection } from './support/results.ts';

/**
 * `npm run bench:kube-scheduler`: places the pods of `whatif, placements from empty` with the real
 * kube-scheduler, and writes its own section of RESULTS.md. The nodes are objects without kubelets,
 * and all pods wait before a scheduler starts.
 */
const RESULTS = new URL('./RESULTS.md', import.meta.url);
const NAME = 'kube-scheduler, placements from empty';
const COLUMNS = 100;
const [NAMESPACE, PODS, CLASSES] = ['ml', '/api/v1/namespaces/ml/pods', '/apis/scheduling.k8s.io/v1/priorityclasses'] as const;
const AT_A_TIME = 32;
const PORT = 10359;
const PATIENCE_MS = 30 * 60_000;
/** All pods are listed only when no pod got a node for this long: that costs the server much. */
const QUIET_MS = 3000;

/** A way to run kube-scheduler. */
interface Way {
  readonly title: string;
  readonly config: Readonly<Record<string, unknown>>;
}

const RAISED = { clientConnection: { qps: 10_000, burst: 10_000 } };
const WAYS: readonly Way[] = [
  { title: 'kube-scheduler, 10,000 requests/s, all nodes scored', config: { ...RAISED, percentageOfNodesToScore: 100 } },
  { title: 'kube-scheduler, 10,000 requests/s', config: RAISED },
  { title: 'kube-scheduler as it comes: 50 requests/s, bursts of 100', config: {} },
];

interface Measured {
  readonly title: string;
  readonly placed: number;
  readonly seconds: number;
  /** The processor time of the scheduler alone, its start included. */
  readonly processorSeconds: number;
}

const whyNot = whyNoNamespaces() ?? (await buildFacility());
if (whyNot !== null) throw new Error(whyNot);
const traced = tracedCluster();
const [load = 0] = loadavg();
await using cluster = await startReal(traced);
const all: Measured[] = [placeOurselves(traced)];
for (const [index, way] of WAYS.entries()) {
  all.push(await placeWith(cluster, way, `way-${index}`));
  console.log(JSON.stringify(all.at(-1)));
  writeFileSync(RESULTS, replaceSection(readFileSync(RESULTS, 'utf8'), NAME, section(all)));
}

/** A control plane with the nodes, and with nothing else that acts on pods. */
async function startReal({ nodes, others }: GpuCluster): Promise<RealCluster> {
  const started = await startCluster({
    nodes: [],
    apiServer: { 'disable-admission-plugins': 'ServiceAccount,TaintNodesByCondition' },
    controllerManager: { controllers: 'serviceaccount-controller' },
  });
  await started.api.create('/api/v1/namespaces', { metadata: { name: NAMESPACE } });
  for (const each of others as readonly { readonly kind: string }[])
    if (each.kind === 'PriorityClass') await started.api.create(CLASSES, { ...each, preemptionPolicy: 'Never' });
  await inParallel(nodes, AT_A_TIME, async (node) => {
    await started.api.create('/api/v1/nodes', node);
  });
  return started;
}

function placeOurselves({ nodes, others, pods }: GpuCluster): Measured {
  const input = clusterInputOf(readAll([...nodes, ...others, ...pods]), { minor: 35, hasGroups: false });
  const empty = new Cluster(input);
  const [startedMs, before] = [performance.now(), process.cpuUsage()];
  const { steps } = scheduleAll(empty, empty.waiting, { evicts: false });
  const [seconds, { user, system }] = [(performance.now() - startedMs) / 1000, process.cpuUsage(before)];
  const placed = steps.filter(({ placement }) => placement.node !== null).length;
  return { title: 'holdfast, in memory, all nodes scored', placed, seconds, processorSeconds: (user + system) / 1e6 };
}

/** Creates all pods, starts a scheduler for them, and removes them when it has tried each. */
async function placeWith(real: RealCluster, { title, config }: Way, schedulerName: string): Promise<Measured> {
  await inParallel(traced.pods as readonly { readonly spec: object }[], AT_A_TIME, async (pod) => {
    await real.api.create(PODS, { ...pod, spec: { ...pod.spec, schedulerName } });
  });
  const bound: number[] = [];
  const ending = new AbortController();
  const watching = real.api.watch(
    `${PODS}?watch=1&fieldSelector=${encodeURIComponent('spec.nodeName!=')}`,
    (line) => {
      if (line.startsWith('{"type":"ADDED"')) bound.push(performance.now());
    },
    ending.signal,
  );
  const scheduler = startScheduler(real, config, schedulerName);
  const isDone = async (): Promise<true | null> => {
    if (performance.now() - (bound.at(-1) ?? Infinity) < QUIET_MS) return null;
    const left = await real.api.list(`${PODS}?fieldSelector=${encodeURIComponent('spec.nodeName=')}`);
    return left.length + bound.length === traced.pods.length && left.every(isRefused) ? true : null;
  };
  await eventually('all pods to be tried', isDone, { patienceMs: PATIENCE_MS, pauseMs: 1000, hopeless: () => scheduler.ended() });
  const processorSeconds = await processorSecondsOf(real);
  ending.abort();
  await watching;
  await scheduler.stop();
  const names = (traced.pods as readonly { readonly metadata: { readonly name: string } }[]).map(({ metadata }) => metadata.name);
  await inParallel(names, AT_A_TIME, (name) => real.api.remove(`${PODS}/${name}?gracePeriodSeconds=0`));
  const seconds = ((bound.at(-1) ?? Number.NaN) - (bound[0] ?? Number.NaN)) / 1000;
  return { title, placed: bound.length, seconds, processorSeconds };
}

function startScheduler(real: RealCluster, config: Way['config'], schedulerName: string): ReturnType<RealCluster['start']> {
  const file = join(real.folder, `${schedulerName}.json`);
  const client = { ...(config['clientConnection'] as object | undefined), kubeconfig: real.kubeconfig };
  const whole = {
    apiVersion: 'kubescheduler.config.k8s.io/v1',
    kind: 'KubeSchedulerConfiguration',
    leaderElection: { leaderElect: false },
    profiles: [{ schedulerName }],
    ...config,
    clientConnection: client,
  };
  writeFileSync(file, JSON.stringify(whole));
  const asked = ['authentication', 'authorization'].map((what) => `--${what}-kubeconfig=${real.kubeconfig}`);
  return real.start('kube-scheduler', [`--config=${file}`, `--secure-port=${PORT}`, ...asked]);
}

async function processorSecondsOf(real: RealCluster): Promise<number> {
  const address = [`--server=https://127.0.0.1:${PORT}`, '--insecure-skip-tls-verify'];
  const metrics = await real.run([...real.kubectlCommand, ...address, 'get', '--raw', '/metrics']);
  const [, seconds] = /^process_cpu_seconds_total (\S+)$/m.exec(metrics) ?? [];
  return Number(seconds);
}

function section(measured: readonly Measured[]): string {
  const description = `${traced.pods.length.toLocaleString('en')} pods on ${traced.nodes.length.toLocaleString('en')} nodes, of ${traced.origin}, placed once by us and once by the real kube-scheduler ${cluster.version}. Its nodes are objects without kubelets, all pods wait when it starts, and none may evict another. It watches the API and writes each node into it; we do neither. The seconds go from the first pod that has a node to the last. Meanwhile the API server, etcd and this script work on the same ${availableParallelism()} processors (load ${load.toFixed(0)} at the start). The processor seconds are those of the scheduler alone. By default it scores a part of the nodes; we score all.`;
  const perSecond = (placed: number, seconds: number): string => Math.round(placed / seconds).toLocaleString('en');
  const rows = measured.map(
    ({ title, placed, seconds, processorSeconds }) =>
      `| ${title} | ${placed.toLocaleString('en')} | ${seconds.toFixed(1)} | ${perSecond(placed, seconds)} | ${processorSeconds.toFixed(1)} | ${perSecond(placed, processorSeconds)} |`,
  );
  return [
    `## ${NAME}`,
    '',
    ...wrap(description, COLUMNS),
    '',
    '| | pods with a node | seconds | pods/s | processor seconds | pods per processor second |',
    '|---|---:|---:|---:|---:|---:|',
    ...rows,
    '',
    ...wrap(
      `Measured ${new Date().toISOString().slice(0, 10)} by \`npm run bench:kube-scheduler\`, Node ${process.versions.node}.`,
      COLUMNS,
    ),
    '',
  ].join('\n');
}
