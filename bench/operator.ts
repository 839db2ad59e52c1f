import { readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pass } from 'node:timers/promises';
import { findV1 } from '../test/kubernetes/beside/v1-process.ts';
import { whyNoCluster } from '../test/kubernetes/cluster/facility.ts';
import { runOperator } from '../test/kubernetes/scenario/operator-process.ts';
import { buildExecutable } from '../tools/binary/executable.ts';
import { type Contender, gangOf, gangsIn, holdfast, jobSet, type Limits, operatorOptions, v1 } from './support/operator/contenders.ts';
import { findJobSet } from './support/operator/jobset.ts';
import type { KubeletAnswer, KubeletOrder } from './support/operator/kubelets-process.ts';
import { type RestartCluster, startRestartCluster } from './support/operator/restart-cluster.ts';
import { IS_TRIAL, roundsOr } from './support/size.ts';
import type { Bound, Suite, Variant, VariantResult } from './support/suite.ts';

/** The pods of a gang. */
const PODS = IS_TRIAL ? 100 : 1000;
const [JOBS, PODS_OF_JOB] = [PODS / 10, 10];
/** The pods that the operator watches when its memory is measured, in gangs of {@link PODS}. */
const GANGS = 10;
const RAISED = { qps: 1000, burst: 2000 };
const RAISED_CONTROLLERS = { 'kube-api-qps': String(RAISED.qps), 'kube-api-burst': String(RAISED.burst) };
const MOST_BYTES = 300e6;
/**
 * A program that has just started looks at everything once, and its client may send a burst again.
 */
const SETTLE_MS = 5000;
const JOB_LABEL = 'training.kubeflow.org/job-name';
const LOAD_NOW = (): string => `Load ${loadavg()[0]?.toFixed(1) ?? '?'} at the start.`;
const many = (count: number): string => count.toLocaleString('en');

/** A gang of 1,000 pods, with the limits that every client has by default. */
export const operatorDefaults = (): Promise<Suite | string> => restartSuite(null);
/** The same with higher limits, alike for all. */
export const operatorRaised = (): Promise<Suite | string> => restartSuite(RAISED);

async function restartSuite(limits: Limits): Promise<Suite | string> {
  const found = findOthers();
  if ('reason' in found) return found.reason;
  const jobSets = findJobSet();
  const bench = await startRestartCluster(found.folder, limits === null ? {} : RAISED_CONTROLLERS);
  const contenders = [holdfast(bench, await binaryIn(bench), PODS), v1(bench, found.folder, PODS)];
  if ('folder' in jobSets) contenders.push(await jobSet(bench, jobSets.folder, PODS));
  const writes = new Map<string, number>();
  const median = (results: ReadonlyMap<string, VariantResult>, name: string): number => results.get(name)?.seconds.median ?? Number.NaN;
  const factor = limits === null ? 3 : 2;
  const rate: Bound = {
    text: `at least ${factor} × the rate of v1`,
    isMet: (results) => median(results, 'v1, suspend and resume') >= factor * median(results, 'holdfast'),
  };
  const others: Bound = {
    text: 'at least the rate of JobSet',
    isMet: (results) => median(results, 'holdfast') <= median(results, 'JobSet'),
  };
  const told = 'reason' in jobSets ? ` ${jobSets.reason}.` : '';
  return {
    name: `operator: a gang of ${many(PODS)} pods, ${limits === null ? 'default limits' : 'raised limits'}`,
    description:
      `From the first lost pod until all ${many(PODS)} are created anew, on a real API server with etcd. Played kubelets, in a process of their own, start and end pods at once; the pods have their node from the first moment. ` +
      `v1 (the Training Operator v1.9.4) does this only for a suspension, from which the job is resumed when its last pod is gone. JobSet v0.12.0 has one Job of ${many(PODS)} pods and no webhooks; the Job controller and the garbage collector of Kubernetes 1.35 create and delete for it. ` +
      `${limits === null ? 'The clients may send as much as they do by default: holdfast 100 requests per second, v1 20, JobSet 500, each controller of Kubernetes 20.' : `Each client, and each controller of Kubernetes, may send ${many(limits.qps)} requests per second.`} ${LOAD_NOW()}${told}`,
    rounds: limits === null ? roundsOr(1) : roundsOr(3),
    warmsUp: limits !== null,
    reference: 'holdfast',
    bytes: 0,
    variants: contenders.map((contender) => restartOf(bench, contender, limits, writes)),
    bounds: [rate, ...('folder' in jobSets ? [others] : []), writesBound(writes)],
    dispose: () => bench[Symbol.asyncDispose](),
  };
}

/** How long a contender takes to create all pods of its job anew. */
function restartOf(bench: RestartCluster, contender: Contender, limits: Limits, writes: Map<string, number>): Variant {
  const { name, namespace, blow } = contender;
  const order = { namespace, groupLabel: null, groups: 1, each: PODS, all: PODS };
  let hasJob = false;
  let running: AsyncDisposable | null = null;
  return {
    name,
    async prepare() {
      if (!hasJob) {
        await bench.createNamespace(namespace);
        await using _first = await contender.start(RAISED);
        await contender.createJob();
        await bench.kubelets.obey({ ...order, blow: null });
        hasJob = true;
      }
      running = await contender.start(limits);
      await pass(SETTLE_MS);
    },
    async run() {
      const { beganMs, recreatedMs, calmMs } = await bench.kubelets.obey({ ...order, blow });
      await pass(SETTLE_MS);
      await running?.[Symbol.asyncDispose]();
      writes.set(name, Math.max(writes.get(name) ?? 0, bench.writesIn(namespace, { fromMs: beganMs, toMs: calmMs + SETTLE_MS })));
      return { seconds: secondsTo(recreatedMs.at(-1), beganMs) };
    },
  };
}

function writesBound(writes: ReadonlyMap<string, number>): Bound {
  const each = (name: string): number => (writes.get(name) ?? Number.NaN) / PODS;
  return {
    get text() {
      const counts = ['holdfast', 'v1, suspend and resume'].map((name) => `${name}: ${each(name).toFixed(3)}`);
      return `at most 2 writes per pod, until all run again, by the audit log and without events (${counts.join('; ')})`;
    },
    isMet: () => each('holdfast') <= 2,
  };
}

/** As many pods in one gang, and in 100 that are struck at once. */
export async function operatorJobs(): Promise<Suite | string> {
  const found = findOthers();
  if ('reason' in found) return found.reason;
  const bench = await startRestartCluster(found.folder, {});
  const binary = await binaryIn(bench);
  const places = [
    { name: `one job of ${many(PODS)} pods`, namespace: 'one', jobs: 1, each: PODS },
    { name: `${JOBS} jobs of ${PODS_OF_JOB} pods, the 99th percentile`, namespace: 'many', jobs: JOBS, each: PODS_OF_JOB },
    { name: `one job of ${PODS_OF_JOB} pods`, namespace: 'small', jobs: 1, each: PODS_OF_JOB },
  ] as const;
  {
    await using _first = runOperator(bench.cluster, operatorOptions(RAISED), binary);
    for (const { namespace, jobs, each } of places) await createGangs(bench, namespace, jobs, each);
  }
  const operator = runOperator(bench.cluster, operatorOptions(null), binary);
  const [alone, together] = places;
  return {
    name: `operator: ${JOBS} jobs at once`,
    description: `A pod of every job is deleted at the same moment; from then until all pods of a job are created anew, with the default limits of the client and played kubelets that take no time. ${LOAD_NOW()}`,
    rounds: roundsOr(3),
    reference: alone.name,
    bytes: 0,
    variants: places.map(({ name, namespace, jobs, each }) => ({
      name,
      prepare: () => pass(SETTLE_MS),
      run: async () => {
        const { beganMs, recreatedMs } = await bench.kubelets.obey(lossIn(namespace, { jobs, each, all: jobs * each }));
        return { seconds: secondsTo(recreatedMs[Math.ceil(jobs * 0.99) - 1], beganMs) };
      },
    })),
    bounds: [
      {
        text: `the 99th percentile of ${JOBS} jobs at once is at most 2 × the time of one job with as many pods`,
        isMet: (results) =>
          (results.get(together.name)?.seconds.median ?? Number.NaN) <= 2 * (results.get(alone.name)?.seconds.median ?? Number.NaN),
      },
    ],
    async dispose() {
      await operator[Symbol.asyncDispose]();
      await bench[Symbol.asyncDispose]();
    },
  };
}

/** How soon the operator works after its start, and how much memory it takes. */
export async function operatorStart(): Promise<Suite | string> {
  const found = findOthers();
  if ('reason' in found) return found.reason;
  const bench = await startRestartCluster(found.folder, RAISED_CONTROLLERS);
  const binary = await binaryIn(bench);
  const all = GANGS * PODS;
  {
    await using _first = runOperator(bench.cluster, operatorOptions(RAISED), binary);
    await createGangs(bench, 'gangs', GANGS, PODS);
  }
  const names = { alone: 'an empty namespace', full: `${many(all)} pods` };
  const loss = lossIn('gangs', { jobs: 1, each: PODS, all });
  return {
    name: 'operator: start and memory',
    description: `From the start of the process until the first pod of a job that waits for it is there: an operator for an empty namespace, and one for a cluster with ${GANGS} jobs of ${many(PODS)} pods each. The memory is the most that it takes, after one of those jobs has been restarted. The program is the executable of the image. ${LOAD_NOW()}`,
    rounds: roundsOr(3),
    reference: names.alone,
    bytes: 0,
    variants: [startIn(bench, binary, { name: names.alone, loss: null }), startIn(bench, binary, { name: names.full, loss })],
    bounds: [
      ...Object.values(names).map(
        (name): Bound => ({
          text: `${name}: the first reconcile at most 2 s after the start`,
          isMet: (results) => (results.get(name)?.seconds.median ?? Infinity) <= 2,
        }),
      ),
      {
        text: `at most ${MOST_BYTES / 1e6} MB with ${many(all)} pods`,
        isMet: (results) => (results.get(names.full)?.peakBytes ?? Infinity) <= MOST_BYTES,
      },
    ],
    dispose: () => bench[Symbol.asyncDispose](),
  };
}

/** The start of an operator: of the whole cluster where a loss follows, else of a namespace. */
function startIn(
  bench: RestartCluster,
  binary: string,
  { name, loss }: { readonly name: string; readonly loss: KubeletOrder | null },
): Variant {
  let namespace = '';
  let round = 0;
  return {
    name,
    async prepare() {
      round += 1;
      namespace = `${loss === null ? 'alone' : 'first'}-${round}`;
      await bench.createNamespace(namespace);
      await bench.cluster.api.create(gangsIn(namespace), gangOf('waits', 1));
    },
    async run() {
      const created = bench.kubelets.obey({ namespace, blow: null, groupLabel: null, groups: 1, each: 1, all: 1 });
      const beganMs = performance.timeOrigin + performance.now();
      const where = loss === null ? [`--watch-namespace=${namespace}`] : [];
      await using operator = runOperator(bench.cluster, [...where, ...operatorOptions(null)], binary);
      const { recreatedMs } = await created;
      if (loss !== null) await bench.kubelets.obey(loss);
      return { seconds: secondsTo(recreatedMs[0], beganMs), peakBytes: peakOf(operator.pid) };
    },
  };
}

function lossIn(namespace: string, { jobs, ...counts }: Pick<KubeletOrder, 'each' | 'all'> & { readonly jobs: number }): KubeletOrder {
  const pods = Array.from({ length: jobs }, (_, index) => `gang-${index}-worker-0`);
  return { namespace, blow: { kind: 'delete', pods }, groupLabel: JOB_LABEL, groups: jobs, ...counts };
}

async function createGangs(bench: RestartCluster, namespace: string, jobs: number, each: number): Promise<KubeletAnswer> {
  await bench.createNamespace(namespace);
  for (let index = 0; index < jobs; index++) await bench.cluster.api.create(gangsIn(namespace), gangOf(`gang-${index}`, each));
  return bench.kubelets.obey({ namespace, blow: null, groupLabel: JOB_LABEL, groups: jobs, each, all: jobs * each });
}

/** The Training Operator v1; its kinds are those of the jobs. */
function findOthers(): { readonly folder: string } | { readonly reason: string } {
  const reason = whyNoCluster();
  return reason === null ? findV1() : { reason };
}

async function binaryIn({ folder }: RestartCluster): Promise<string> {
  const binary = join(folder, 'holdfast');
  await buildExecutable(binary);
  return binary;
}

function peakOf(pid: number): number {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? Number.NaN) * 1024;
}

function secondsTo(endMs: number | undefined, beganMs: number): number {
  return ((endMs ?? Number.NaN) - beganMs) / 1000;
}
