import { type Case, type Minor, type OracleCheck, RELEASES, canonical, refusal, shuffled } from './check.ts';
import { type PreemptionVerdict, type Verdict, schedulerVerdict } from './scheduler-verdict.ts';
import { someCluster } from './scheduling-cases.ts';
import { type ScheduleQuestion, scheduleQuestion } from './scheduling-objects.ts';
import type { NodeCase } from './scheduling.ts';

/** Filters, scores, default preemption and messages of the scheduler. */
export const SCHEDULE_CHECK: OracleCheck = {
  name: 'scheduler',
  releases: RELEASES,
  about:
    'one pod and some nodes with pods on them, and some that are promised to others: which filter refuses which node, with which words, what every plugin gives to those that are left and the total, whom a preemption would cost what, the node it takes, and the whole message of the event where no node takes the pod; the same in another order, and with more room everywhere',
  makeCase(rng): Case {
    const cluster = someCluster(rng);
    const otherOrder = { ...cluster, nodes: shuffled(cluster.nodes, rng), pods: shuffled(cluster.pods, rng) };
    const roomy = { ...cluster, nodes: cluster.nodes.map(withMoreRoom) };
    const questions = [cluster, otherOrder, roomy].map((each) => scheduleQuestion(each));
    return {
      questions,
      disagreements: (answers, minor) => {
        const refusals = answers.map(refusal).filter((why) => why !== null);
        if (refusals.length > 0) return refusals.map((why) => `refused: ${why}`);
        const verdicts = answers as readonly [Verdict, Verdict, Verdict];
        const [real, reordered, withRoom] = verdicts;
        return [
          ...questions.flatMap((question, index) => differences(question, verdicts[index] as Verdict, { minor, isGrouped: false })),
          ...(told(real) === told(reordered) ? [] : [`another order of the same: ${told(real)} or ${told(reordered)}`]),
          ...lostByRoom(real, withRoom),
        ];
      },
      outcome: ([answer]) => {
        const { preemption } = answer as Verdict;
        if (preemption === undefined) return 'the pod fits on a node';
        return preemption.node === undefined
          ? 'it fits nowhere, and no pod is evicted for it'
          : 'it fits nowhere, and pods are evicted for it';
      },
    };
  },
};

/**
 * What the real scheduler says of a pod and ours does not. The members of a PodGroup that goes
 * together have no order there, so that the victims of a case with PodGroups are compared as a set.
 */
export function differences(
  question: ScheduleQuestion,
  { filters, scores, preemption, message }: Verdict,
  { minor, isGrouped }: { readonly minor: Minor; readonly isGrouped: boolean },
): readonly string[] {
  const own = schedulerVerdict(question, minor);
  if (canonical(filters) !== canonical(own.filters)) return [`the filters say ${canonical(filters)}, ours ${canonical(own.filters)}`];
  if (canonical(scores) !== canonical(own.scores)) return [`the scores are ${canonical(scores)}, ours ${canonical(own.scores)}`];
  if (preemption === undefined) {
    const best = bestOf(scores ?? {});
    return canonical(best) === canonical([...own.tied].sort()) ? [] : [`the best are ${best.join(' ')}, ours ${own.tied.join(' ')}`];
  }
  const { message: _, ...result } = preemption as typeof preemption & { readonly message?: string };
  const comparable = (each: PreemptionVerdict): PreemptionVerdict => (isGrouped ? withoutOrder(each) : each);
  const expected = canonical({ preemption: comparable(result), message });
  const choices = own.choices.map((each) =>
    canonical({ ...each, ...(each.preemption === undefined ? {} : { preemption: comparable(each.preemption) }) }),
  );
  return choices.includes(expected) ? [] : [`the preemption is ${expected}, ours ${choices.join(' or ')}`];
}

function withoutOrder(verdict: PreemptionVerdict): PreemptionVerdict {
  const candidates = Object.entries(verdict.candidates).map(
    ([node, each]) => [node, { ...each, victims: [...each.victims].sort() }] as const,
  );
  return { ...verdict, candidates: Object.fromEntries(candidates) };
}

/** The nodes with the best total. */
function bestOf(scores: NonNullable<Verdict['scores']>): readonly string[] {
  const totals = Object.entries(scores).map(([node, { total = 0 }]) => ({ node, total }));
  const most = Math.max(...totals.map(({ total }) => total));
  return totals.flatMap(({ node, total }) => (total === most ? [node] : [])).sort();
}

/** Everything in the verdict that does not depend on chance. */
function told({ filters, scores, preemption }: Verdict): string {
  return canonical([filters, scores, preemption?.candidates]);
}

/** A pod that fits must still fit when every node has more room. */
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
