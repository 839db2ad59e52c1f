import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { readDump } from '../src/kube/objects/read-dump.ts';
import { Cluster } from '../src/scheduler/cluster/cluster.ts';
import { clusterInputOf } from '../src/scheduler/objects/cluster-input.ts';
import { scheduleAll } from '../src/scheduler/schedule-all.ts';
import { answerApply, outcomeOfApply } from '../src/whatif/apply/answer.ts';
import { worldOf, type World } from '../src/whatif/world/world.ts';
import { runProcess } from '../test/support/run-process.ts';
import { readAll, repeated, runningObjects, SERVICE, syntheticCluster, tracedCluster } from './support/gpu-cluster.ts';
import { roundsOr } from './support/size.ts';
import type { Bound, Suite, Variant } from './support/suite.ts';

const LOAD = join(import.meta.dirname, 'support', 'whatif-load.ts');
const MANIFESTS = readAll([SERVICE]);
const WISH = { namespace: 'ml', replicas: null } as const;
const LOAD_NOW = () => `Seconds of processor time, because other work shares the machine (load ${loadavg()[0]?.toFixed(0)} at the start).`;

/** One answer of `whatif apply` about a large cluster, and what comes before it. */
export async function whatifAnswer(): Promise<Suite> {
  const cluster = tracedCluster();
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  const snapshot = join(folder, 'cluster.json');
  writeFileSync(snapshot, jsonLines(runningObjects(cluster)));
  const world = worldOf(readDump([snapshot], '').objects, null);
  const load: Variant = { name: 'load', run: () => measureLoad('load', snapshot) };
  const parse: Variant = { name: 'parse', run: () => measureLoad('parse', snapshot) };
  return {
    name: 'whatif apply, 1,213 nodes',
    description: `A Deployment whose four pods evict training pods, in ${cluster.origin}, with ${cluster.pods.length.toLocaleString('en')} pods placed as the scheduler does it. Loading is a process that reads the snapshot, start-up included, and is compared with \`node\` that only parses it. ${LOAD_NOW()}`,
    rounds: roundsOr(9),
    reference: parse.name,
    bytes: 0,
    variants: [parse, load, answer('answer', world, outcomeOfApply), answer('answer with alternatives', world, answerApply)],
    bounds: [
      atMost('load', 1),
      { text: 'load: at most 300 MB', isMet: (results) => (results.get('load')?.peakBytes ?? Infinity) <= 300e6 },
      atMost('answer', 0.05),
      atMost('answer with alternatives', 0.5),
    ],
    dispose: () => rmSync(folder, { recursive: true }),
  };
}

/** All pods of the cluster, placed one after another on empty nodes. */
export async function whatifPlacements(): Promise<Suite> {
  const cluster = tracedCluster();
  const input = clusterInputOf(readAll([...cluster.nodes, ...cluster.others, ...cluster.pods]), { minor: 35, hasGroups: false });
  const count = cluster.pods.length;
  return {
    name: 'whatif, placements from empty',
    description: `${count.toLocaleString('en')} pods on ${cluster.nodes.length.toLocaleString('en')} nodes, of ${cluster.origin}; every node is filtered and scored for every pod, with no sampling. ${LOAD_NOW()}`,
    rounds: roundsOr(5),
    reference: 'place all',
    bytes: 0,
    variants: [measured('place all', () => scheduleAll(new Cluster(input), new Cluster(input).waiting, { evicts: false }))],
    bounds: [
      {
        text: 'at least 5,000 placements/s',
        isMet: (results) => count / (results.get('place all')?.seconds.median ?? Infinity) >= 5000,
      },
    ],
  };
}

/** How an answer with alternatives grows with the cluster. */
export async function whatifGrowth(): Promise<Suite> {
  const hundred = runningObjects(syntheticCluster(100));
  const variants = [100, 300, 1000, 3000, 10_000].map((nodes) => {
    const world = worldOf(readAll(repeated(hundred, nodes / 100)), null);
    return answer(`${nodes.toLocaleString('en')} nodes`, world, answerApply);
  });
  return {
    name: 'whatif apply, from 100 to 10,000 nodes',
    description: `The same question with alternatives, in a full synthetic cluster of 100 nodes and 672 pods, repeated under other names. ${LOAD_NOW()}`,
    rounds: roundsOr(3),
    reference: '1,000 nodes',
    bytes: 0,
    variants,
    bounds: [
      {
        text: '10,000 nodes take at most 20 × as long as 1,000',
        isMet: (results) =>
          (results.get('10,000 nodes')?.seconds.median ?? Infinity) <= 20 * (results.get('1,000 nodes')?.seconds.median ?? 0),
      },
    ],
  };
}

async function measureLoad(how: 'load' | 'parse', snapshot: string): Promise<{ readonly seconds: number; readonly peakBytes: number }> {
  const { code, stdout, stderr } = await runProcess(process.execPath, [LOAD, how, snapshot]);
  if (code !== 0) throw new Error(`${LOAD} ${how} exited with ${code}: ${stderr.slice(0, 2000)}`);
  return JSON.parse(stdout) as { readonly seconds: number; readonly peakBytes: number };
}

function jsonLines(objects: readonly object[]): string {
  return objects.map((each) => JSON.stringify(each)).join('\n');
}

function atMost(name: string, seconds: number): Bound {
  return {
    text: `${name}: at most ${seconds < 1 ? `${1000 * seconds} ms` : `${seconds} s`}`,
    isMet: (results) => (results.get(name)?.seconds.median ?? Infinity) <= seconds,
  };
}

function answer(name: string, world: World, ask: (world: World, manifests: typeof MANIFESTS, wish: typeof WISH) => unknown): Variant {
  return measured(name, () => ask(world, MANIFESTS, WISH));
}

function measured(name: string, work: () => unknown): Variant {
  const run = async (): Promise<{ readonly seconds: number }> => {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return { seconds: (user + system) / 1e6 };
  };
  return { name, run };
}
