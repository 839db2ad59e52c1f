import { type Case, type OracleCheck, canonical, refusal, shuffled } from './check.ts';
import { filteredBeside } from './filter-model.ts';
import { SAID_OF_NODES, bestOf, candidates, unpromisedOn, whyNone } from './preemption-model.ts';
import { someCluster } from './scheduling-cases.ts';
import { scheduleQuestion } from './scheduling-objects.ts';
import type { ClusterCase, NodeCase } from './scheduling.ts';
import { scoresOf } from './score-model.ts';

interface Verdict {
  readonly filters: Readonly<Record<string, { readonly code: string; readonly plugin?: string; readonly reasons?: readonly string[] }>>;
  readonly scores?: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly preemption?: {
    readonly code: string;
    readonly message?: string;
    readonly node?: string;
    readonly victims?: readonly string[];
    readonly unpromised?: readonly string[];
    readonly candidates: Readonly<Record<string, { readonly victims: readonly string[]; readonly violations: number }>>;
  };
}

/** Filters, scores and default preemption of the scheduler. */
export const SCHEDULE_CHECK: OracleCheck = {
  name: 'scheduler',
  about:
    'one pod and some nodes with pods on them, and some that are promised to others: which filter refuses which node, what every plugin gives to those that are left and the total, whom a preemption would cost what, the node it takes, and what it says where it takes none; the same in another order, and with more room everywhere',
  makeCase(rng): Case {
    const cluster = someCluster(rng);
    const otherOrder = { ...cluster, nodes: shuffled(cluster.nodes, rng), pods: shuffled(cluster.pods, rng) };
    const roomy = { ...cluster, nodes: cluster.nodes.map(withMoreRoom) };
    return {
      questions: [cluster, otherOrder, roomy].map(scheduleQuestion),
      disagreements: (answers) => {
        const refusals = answers.map(refusal).filter((why) => why !== null);
        if (refusals.length > 0) return refusals.map((why) => `refused: ${why}`);
        const [real, reordered, withRoom] = answers as readonly [Verdict, Verdict, Verdict];
        return [
          ...differences(cluster, real),
          ...differences(roomy, withRoom),
          ...(told(real) === told(reordered) ? [] : [`another order of the same: ${told(real)} or ${told(reordered)}`]),
          ...lostByRoom(real, withRoom),
        ];
      },
      outcome: ([answer]) => {
        const { preemption } = answer as Verdict;
        if (preemption === undefined) return 'the pod fits on a node';
        return preemption.node === undefined ? 'it fits nowhere, and nobody goes for it' : 'it fits nowhere, and others go for it';
      },
    };
  },
};

function differences(cluster: ClusterCase, real: Verdict): readonly string[] {
  return [
    ...filterDifferences(cluster, real),
    ...scoreDifferences(cluster, real),
    ...(real.preemption === undefined ? [] : preemptionDifferences(cluster, real.preemption)),
  ];
}

function filterDifferences(cluster: ClusterCase, { filters }: Verdict): readonly string[] {
  return cluster.nodes.flatMap((node) => {
    const believed = filteredBeside(cluster.pod, node, cluster);
    const { code, plugin = '', reasons = [] } = filters[node.name] ?? { code: 'nothing' };
    const isSame = code === believed.code && plugin === believed.plugin;
    return isSame
      ? []
      : [`${node.name} is ${code} by ${plugin} (${reasons.join('; ')}), we believed ${believed.code} by ${believed.plugin}`];
  });
}

function scoreDifferences(cluster: ClusterCase, { scores = {} }: Verdict): readonly string[] {
  const passed = cluster.nodes.filter((node) => filteredBeside(cluster.pod, node, cluster).code === 'Success');
  const believed = scoresOf(cluster, passed);
  return canonical(scores) === canonical(believed) ? [] : [`the scores are ${canonical(scores)}, we believed ${canonical(believed)}`];
}

function preemptionDifferences(cluster: ClusterCase, real: NonNullable<Verdict['preemption']>): readonly string[] {
  const believed = candidates(cluster);
  const ours = Object.fromEntries(
    [...believed].map(([node, { victims, violations }]) => [node, { victims: victims.map(({ name }) => name), violations }]),
  );
  if (canonical(real.candidates) !== canonical(ours)) return [`victims ${canonical(real.candidates)}, we believed ${canonical(ours)}`];
  const best = cluster.pod.isNeverPreempting ? [] : bestOf(believed);
  const { code, node = '' } = real;
  const result = best.length === 0 ? 'Unschedulable' : 'Success';
  if (code !== result || saidIn(real) !== whyNone(cluster, best))
    return [`preemption ends with ${code}, ${saidIn(real)}, we believed ${result}, ${whyNone(cluster, best)}`];
  if (best.length === 0) return node === '' ? [] : [`${node} is chosen, we believed in no preemption`];
  return choiceDifferences(cluster, real, { best, victimsOn: (each) => ours[each]?.victims ?? [] });
}

function choiceDifferences(
  cluster: ClusterCase,
  { node = '', victims = [], unpromised = [] }: NonNullable<Verdict['preemption']>,
  { best, victimsOn }: { readonly best: readonly string[]; readonly victimsOn: (node: string) => readonly string[] },
): readonly string[] {
  const isOurs = best.includes(node) && canonical(victims) === canonical([...victimsOn(node)].sort());
  if (!isOurs) return [`${node} is chosen, at the cost of ${victims.join(' ')}; we believed in one of ${best.join(' ')}`];
  const losers = unpromisedOn(node, cluster).sort();
  return canonical(unpromised) === canonical(losers)
    ? []
    : [`${node} is no more promised to ${unpromised.join(' ')}, we believed ${losers.join(' ')}`];
}

/** Of what is said those parts that are about preemption, and not again about filters. */
function saidIn({ message = '' }: NonNullable<Verdict['preemption']>): string {
  const isCounted = /^preemption: \d+\/\d+ nodes are available: /.exec(message);
  if (isCounted === null) return message;
  const parts = message.slice(isCounted[0].length).replace(/\.$/, '').split(', ');
  return isCounted[0] + parts.filter((part) => SAID_OF_NODES.some((what) => part.endsWith(` ${what}`))).join(', ');
}

/** All that does not hang on chance. */
function told({ filters, scores, preemption }: Verdict): string {
  const codes = Object.entries(filters).map(([node, { code, plugin }]) => [node, code, plugin] as const);
  return canonical([codes.sort(([first], [second]) => (first < second ? -1 : 1)), scores, preemption?.candidates]);
}

/** Whoever fits still fits when there is more room everywhere. */
function lostByRoom(before: Verdict, after: Verdict): readonly string[] {
  const isFine = ({ filters }: Verdict, node: string): boolean => filters[node]?.code === 'Success';
  return Object.keys(before.filters)
    .filter((node) => isFine(before, node) && !isFine(after, node))
    .map((node) => `${node} is too small with more room: ${canonical(after.filters[node])}`);
}

function withMoreRoom(node: NodeCase): NodeCase {
  const { cpu, memory, gpu, disk, pods } = node.allocatable;
  return { ...node, allocatable: { cpu: cpu + 1000, memory: memory + 1024, gpu: gpu + 1, disk: disk + 1024, pods: pods + 1 } };
}
