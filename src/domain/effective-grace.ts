import { formatDuration } from '../core/duration.ts';
import { type Cause, CAUSES, EVICTION_GRACE_MS, type Notice } from './notice.ts';

/** How long a manifest or a person says that the process has after SIGTERM. */
export interface NominalGrace {
  readonly graceMs: number;
  /** Who says so. A pod cannot see its own grace, so the default is a guess. */
  readonly from: 'option' | 'environment' | 'default';
}

/** What Kubernetes gives when nobody says anything. */
export const DEFAULT_GRACE: NominalGrace = { graceMs: 30_000, from: 'default' };

/** Something that leaves less time than was promised. Either a length from the signal on, or an instant. */
export type GraceLimit = { readonly reason: string } & ({ readonly graceMs: number } | { readonly deadlineMs: number });

/** What the node is, as far as its grace is concerned. */
export const NODE_KINDS = {
  'gke-spot': { graceMs: 15_000, reason: 'a Spot node of GKE leaves user pods 15s of the 30s before it goes' },
  'gce-spot': { graceMs: 30_000, reason: 'a Spot machine of Google Cloud is cut 30s after its notice' },
  'ec2-spot': { graceMs: 110_000, reason: 'a Spot instance of AWS ends 2m after its notice, less what draining takes' },
  'azure-spot': { graceMs: 25_000, reason: 'a Spot machine of Azure ends 30s after its notice, less what detection takes' },
} as const satisfies Readonly<Record<string, GraceLimit>>;

export type NodeKind = keyof typeof NODE_KINDS;

/** A resource of the node that has crossed the line at which the kubelet evicts. */
export interface Pressure {
  readonly resource: 'memory' | 'disk' | 'inodes' | 'process ids';
  /** What was seen: "8 % of the disk is free, eviction begins at 10 %". */
  readonly seen: string;
}

/** What is known about the time that is left. */
export interface GraceFacts {
  readonly nominal: NominalGrace;
  readonly notices: readonly Notice[];
  readonly node: NodeKind | null;
  readonly pressure: readonly Pressure[];
  /** What annotations, policies and launchers in the way leave; instants hold as they are, lengths from the signal on. */
  readonly limits: readonly GraceLimit[];
}

/** One link of the chain: until then, because of this. */
export interface DeadlineReason {
  readonly deadlineMs: number;
  readonly reason: string;
}

/** When the process will be killed, as far as anybody can tell, and how that was found. */
export interface Deadline {
  readonly deadlineMs: number;
  /** From the first terminating notice on. */
  readonly sinceMs: number;
  readonly graceMs: number;
  readonly confidence: 'known' | 'guess';
  /** Longest first; every entry but the first made the time shorter. */
  readonly reasons: readonly DeadlineReason[];
}

interface Candidate extends DeadlineReason {
  readonly confidence: 'known' | 'guess';
}

/**
 * The deadline that follows from what is known, or null while nothing ends the attempt. It is the minimum over a chain, so each fact can
 * only shorten it; `previous` is what was found before, and holds whatever is learnt (or withdrawn) later.
 */
export function effectiveDeadline(facts: GraceFacts, previous: Deadline | null = null): Deadline | null {
  const ending = facts.notices.filter(({ terminating }) => terminating).sort((a, b) => a.atMs - b.atMs);
  const [first] = ending;
  if (first === undefined) return previous;
  const candidates = ending.flatMap((notice) => candidatesOf(notice, facts, ending));
  const known = previous?.reasons.map((reason) => ({ ...reason, confidence: previous.confidence })) ?? [];
  const chain = shortenings([...known, ...candidates]);
  const { deadlineMs, confidence } = chain.at(-1) as Candidate;
  const sinceMs = Math.min(first.atMs, previous?.sinceMs ?? first.atMs);
  const reasons = chain.map(({ deadlineMs: until, reason }) => ({ deadlineMs: until, reason }));
  return { deadlineMs, sinceMs, graceMs: Math.max(0, deadlineMs - sinceMs), confidence, reasons };
}

/** The chain as one sentence: "8s from now: SIGTERM leaves 30s (…), then 15s because …". */
export function explainDeadline({ deadlineMs, confidence, reasons }: Deadline, nowMs: number): string {
  const left = deadlineMs - nowMs;
  const when = left > 0 ? `${formatDuration(left)} left` : `${formatDuration(-left)} past the deadline`;
  return `${when}${confidence === 'guess' ? ' (a guess)' : ''}: ${reasons.map(({ reason }) => reason).join('; shorter, because ')}`;
}

function candidatesOf(notice: Notice, facts: GraceFacts, all: readonly Notice[]): readonly Candidate[] {
  const { label, usualGraceMs } = CAUSES[notice.cause];
  if (notice.deadlineMs !== null) {
    const { deadlineMs, confidence } = notice;
    return [
      { deadlineMs, confidence, reason: `${label} says when: ${formatDuration(Math.max(0, deadlineMs - notice.atMs))} after its notice` },
    ];
  }
  if (usualGraceMs !== null) {
    const usual = {
      deadlineMs: notice.atMs + usualGraceMs,
      confidence: 'known' as const,
      reason: `${label} leaves ${formatDuration(usualGraceMs)}`,
    };
    return [usual, ...(RECLAIMS.has(notice.cause) ? nodeLimits(notice, facts) : [])];
  }
  return [nominalOf(notice, facts.nominal), ...limitsOf(notice, facts, all)];
}

function nominalOf(notice: Notice, { graceMs, from }: NominalGrace): Candidate {
  const told = { option: '--grace', environment: 'the environment', default: 'the default, since nobody has said how long it is' }[from];
  return {
    deadlineMs: notice.atMs + graceMs,
    confidence: from === 'default' ? 'guess' : 'known',
    reason: `${CAUSES[notice.cause].label} leaves ${formatDuration(graceMs)} (${told})`,
  };
}

/** What the kind of node means: the node itself goes, and takes its share of the time. */
const RECLAIMS: ReadonlySet<Cause> = new Set(['gcp-preempted', 'aws-spot', 'azure-preempt', 'node-shutdown'] satisfies Cause[]);

function nodeLimits(notice: Notice, { node }: GraceFacts): readonly Candidate[] {
  if (node === null) return [];
  const { graceMs, reason } = NODE_KINDS[node];
  return [{ deadlineMs: notice.atMs + graceMs, confidence: 'guess', reason }];
}

/** What shortens the grace of a notice that does not say how long it is. */
function limitsOf(notice: Notice, facts: GraceFacts, all: readonly Notice[]): readonly Candidate[] {
  const told = facts.limits.map((limit) => ({
    deadlineMs: 'deadlineMs' in limit ? limit.deadlineMs : notice.atMs + limit.graceMs,
    confidence: 'known' as const,
    reason: limit.reason,
  }));
  if (notice.cause === 'node-shutdown') return [...told, ...nodeLimits(notice, facts)];
  if (notice.cause !== 'sigterm') return told;
  // A signal whose cause another notice has told is not taken for a worse one.
  const before = all.filter((other) => other !== notice && other.atMs <= notice.atMs);
  if (before.length > 0) return before.some(({ cause }) => RECLAIMS.has(cause)) ? [...told, ...nodeLimits(notice, facts)] : told;
  const pressure = facts.pressure.map(({ resource, seen }) => ({
    deadlineMs: notice.atMs + EVICTION_GRACE_MS,
    confidence: 'guess' as const,
    reason: `this may be an eviction, which leaves ${formatDuration(EVICTION_GRACE_MS)}: the node is short of ${resource} (${seen})`,
  }));
  return [...told, ...nodeLimits(notice, facts), ...pressure];
}

/** The candidates that each made the deadline earlier than the ones before, beginning with the latest. */
function shortenings(candidates: readonly Candidate[]): readonly Candidate[] {
  const chain: Candidate[] = [];
  for (const candidate of candidates.toSorted((a, b) => b.deadlineMs - a.deadlineMs)) {
    const last = chain.at(-1);
    if (last === undefined || candidate.deadlineMs < last.deadlineMs) chain.push(candidate);
    // Of two that say the same, what was told outweighs what was guessed.
    else if (last.confidence === 'guess' && candidate.confidence === 'known') chain[chain.length - 1] = candidate;
  }
  return chain;
}
