import { type Case, type Minor, type OracleCheck, canonical, refusal } from './check.ts';
import { someGroupedCluster } from './group-cases.ts';
import { differences } from './schedule-check.ts';
import { type GangVerdict, gangVerdicts, type Verdict } from './scheduler-verdict.ts';
import { type GangQuestion, gangQuestion, scheduleQuestion } from './scheduling-objects.ts';

/** PodGroups of Kubernetes itself, as victims and as preemptors. */
export const GROUP_CHECK: OracleCheck = {
  name: 'groups',
  releases: [37],
  gates: ['GenericWorkload'],
  tries: 5,
  about:
    'the same with PodGroups among the pods on the nodes, and with the gate GenericWorkload: whom a preemption by a pod takes as a whole; and members of a group that come together: where they go, or that too few do, what their preemption evicts in the whole cluster, and which nodes it promises',
  makeCase(rng): Case {
    const { cluster, groups, members } = someGroupedCluster(rng);
    const question = members.length === 0 ? scheduleQuestion(cluster, groups) : gangQuestion(cluster, groups, members);
    return {
      questions: [question],
      disagreements: ([answer], minor) => {
        const why = refusal(answer);
        if (why !== null) return [`refused: ${why}`];
        return 'gang' in question
          ? gangDifferences(question, answer as GangVerdict, minor)
          : differences(question, answer as Verdict, { minor, isGrouped: true });
      },
      outcome: ([answer]) => outcomeOf(answer as Verdict & GangVerdict),
    };
  },
};

function gangDifferences(question: GangQuestion, answer: GangVerdict, minor: Minor): readonly string[] {
  const own = gangVerdicts(question, minor).map(canonical);
  return own.includes(canonical(answer)) ? [] : [`the gang is ${canonical(answer)}, ours ${[...new Set(own)].join(' or ')}`];
}

function outcomeOf({ placed, shortfall, gangPreemption, preemption }: Verdict & Partial<GangVerdict>): string {
  if (placed === undefined) {
    if (preemption === undefined) return 'a pod fits on a node';
    return preemption.node === undefined ? 'a pod fits nowhere' : 'a pod fits nowhere, and others are evicted for it';
  }
  if (shortfall === undefined) return 'enough members of a group fit';
  return gangPreemption?.victims === undefined ? 'too few members of a group fit' : 'too few members fit, and others are evicted for them';
}
