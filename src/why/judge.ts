import { END_CAUSES, type EndCause } from '../domain/causes/catalogue.ts';
import type { WhyFacts } from './facts/facts.ts';
import { lookAlikesOf, missingEvidence, type Refuted } from './look-alikes.ts';
import type { Lead, Rule } from './facts/lead.ts';
import { finished, memory, neverRan, ownEnd, running } from './rules/container.ts';
import { deletion } from './rules/deletion.ts';
import { disruption } from './rules/disruption.ts';
import { supervisor } from './rules/ledger.ts';
import { podEvents, podStatus } from './rules/pod-status.ts';
import { trainingRun } from './rules/training-run.ts';

/** The one cause, its evidence, and the evidence against similar causes. */
export interface Judgement {
  readonly cause: EndCause;
  readonly title: string;
  readonly confidence: 'certain' | 'likely' | 'none';
  readonly evidence: readonly string[];
  readonly against: readonly Refuted[];
  /** With `CANNOT_TELL`: the evidence that would show the cause. */
  readonly missing: readonly string[];
  /** With `CANNOT_TELL`: the causes that all fit. */
  readonly candidates: readonly EndCause[];
}

/**
 * Ordered by strength: first what ended the container before anything else did, then a component
 * that reports that it ended the pod, then inference. A cloud notice comes first, because it is the
 * reason behind a drain, a shutdown or a lost node.
 */
const RULES: readonly Rule[] = [
  supervisor,
  neverRan,
  disruption,
  memory,
  podStatus,
  podEvents,
  trainingRun,
  deletion,
  ownEnd,
  finished,
  running,
];

/**
 * The supervisor knows these only from its own side. If the cluster shows who ended the pod, the
 * cluster decides.
 */
const YIELDS: ReadonlySet<EndCause> = new Set(['TRAINER_FAILED', 'STILL_RUNNING', 'FINISHED']);

/** Judges how a pod, or an attempt, ended. */
export function judge(facts: WhyFacts): Judgement {
  const leads = RULES.flatMap((rule) => rule(facts));
  const chosen = chooseLead(leads, facts);
  if (chosen === null) return cannotTell(facts);
  const same = leads.filter(({ cause }) => cause === chosen.cause);
  return {
    cause: chosen.cause,
    title: END_CAUSES[chosen.cause].title,
    confidence: same.some(({ sure }) => sure === 'certain') ? 'certain' : 'likely',
    evidence: [...new Set(same.map(({ evidence }) => evidence))],
    against: lookAlikesOf(chosen.cause, facts),
    missing: [],
    candidates: [],
  };
}

function chooseLead(leads: readonly Lead[], facts: WhyFacts): Lead | null {
  const early = endedBefore(facts) ? leads.find(({ cause }) => cause === 'OUT_OF_MEMORY' || cause === 'NODE_OUT_OF_MEMORY') : undefined;
  if (early !== undefined) return early;
  const own = endedLongBefore(facts) ? leads.find(({ cause }) => OWN_ENDS.has(cause)) : undefined;
  if (own !== undefined) return own;
  const firm = leads.filter(({ sure }) => sure === 'certain');
  // A node that stopped reporting explains the taint.
  const lost = leads.find(({ cause, sure }) => cause === 'NODE_LOST' && sure === 'certain');
  return firm.find(({ cause }) => !YIELDS.has(cause) && (lost === undefined || cause !== 'NODE_TAINT')) ?? firm[0] ?? leads[0] ?? null;
}

/**
 * Ends of the container itself. Kubernetes can still evict the pod while another of its containers
 * runs.
 */
const OWN_ENDS: ReadonlySet<EndCause> = new Set(['TRAINER_FAILED', 'TRAINER_CRASHED', 'FINISHED']);
/**
 * The largest difference between two clocks of a cluster. The container has the time of its node,
 * the condition the time of the control plane.
 */
const CLOCKS_MS = 300_000;

/** The container had ended by itself before the pod was disrupted. */
function endedBefore({ pod, ended }: WhyFacts, slackMs = 1000): boolean {
  const since = pod?.conditions.find(({ type, status }) => type === 'DisruptionTarget' && status === 'True')?.sinceMs ?? null;
  return since !== null && ended?.finishedMs !== null && ended !== null && ended.finishedMs < since - slackMs;
}

function endedLongBefore(facts: WhyFacts): boolean {
  return facts.container?.runningSinceMs === null && endedBefore(facts, CLOCKS_MS);
}

function cannotTell(facts: WhyFacts): Judgement {
  const { evidence, missing, candidates } = missingEvidence(facts);
  return { cause: 'CANNOT_TELL', title: END_CAUSES.CANNOT_TELL.title, confidence: 'none', evidence, against: [], missing, candidates };
}
