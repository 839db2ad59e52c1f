import { formatDuration } from '../../core/duration.ts';
import { type Cause, CAUSES, EVICTION_GRACE_MS, type Notice } from './notice.ts';

/** The time after SIGTERM that a manifest or a person promises to the process. */
export interface NominalGrace {
  readonly graceMs: number;
  /** The source of the promise. A pod cannot see its own grace, so the default is a guess. */
  readonly from: 'option' | 'environment' | 'default';
}

/** The Kubernetes default when no manifest sets a grace. */
export const DEFAULT_GRACE: NominalGrace = { graceMs: 30_000, from: 'default' };

/** A fact that shortens the promised time: a length from the signal on, or an instant. */
export type GraceLimit = { readonly reason: string } & ({ readonly graceMs: number } | { readonly deadlineMs: number });

/** The kinds of node that differ in their grace. */
export const NODE_KINDS = {
  'gke-spot': { graceMs: 15_000, reason: 'a Spot node of GKE leaves user pods 15s of the 30s before it goes' },
  'gce-spot': { graceMs: 30_000, reason: 'a Spot machine of Google Cloud is cut 30s after its notice' },
  'ec2-spot': { graceMs: 110_000, reason: 'a Spot instance of AWS ends 2m after its notice, less the time for the drain' },
  'azure-spot': { graceMs: 25_000, reason: 'a Spot machine of Azure ends 30s after its notice, less the time for detection' },
} as const satisfies Readonly<Record<string, GraceLimit>>;

/** One kind of node in {@link NODE_KINDS}. */
export type NodeKind = keyof typeof NODE_KINDS;

/** A resource of the node beyond the threshold at which the kubelet evicts. */
export interface Pressure {
  readonly resource: 'memory' | 'disk' | 'inodes' | 'process ids';
  /** The observation: "8 % of the disk is free, eviction begins at 10 %". */
  readonly seen: string;
}

/** The grace in a pod's manifest. Readers of the manifest know it; the pod itself does not. */
export interface ManifestGrace {
  readonly graceMs: number;
  /** The source: the manifest, the API server's default, or the deletion request. */
  readonly from: 'manifest' | 'api-default' | 'request';
}

/** The known facts about the remaining time. */
export interface GraceFacts {
  readonly nominal: NominalGrace | ManifestGrace;
  readonly notices: readonly Notice[];
  readonly node: NodeKind | null;
  readonly pressure: readonly Pressure[];
  /**
   * Limits from annotations, policies and launchers. Instants hold as they are; lengths start at
   * the signal.
   */
  readonly limits: readonly GraceLimit[];
}

/** One link of the chain: a deadline and its reason. */
export interface DeadlineReason {
  readonly deadlineMs: number;
  readonly reason: string;
}

/** The best estimate of when the process will be killed, with its derivation. */
export interface Deadline {
  readonly deadlineMs: number;
  /** From the first terminating notice on. */
  readonly sinceMs: number;
  readonly graceMs: number;
  readonly confidence: 'known' | 'guess';
  /** Longest first; every later entry made the time shorter. */
  readonly reasons: readonly DeadlineReason[];
}

interface Candidate extends DeadlineReason {
  readonly confidence: 'known' | 'guess';
}

/**
 * The deadline that follows from the known facts, or null while nothing ends the attempt. It is the
 * minimum over a chain, so each fact can only shorten it. `previous` is the earlier result; it
 * stays a bound even when a notice is withdrawn.
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
      {
        deadlineMs,
        confidence,
        reason: `${label} names the time: ${formatDuration(Math.max(0, deadlineMs - notice.atMs))} after its notice`,
      },
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

const TOLD_BY: Readonly<Record<GraceFacts['nominal']['from'], string>> = {
  option: '--grace',
  environment: 'the environment',
  default: 'the default, because no grace was given',
  manifest: 'terminationGracePeriodSeconds',
  request: 'the deletion asks for it',
  'api-default': 'the default grace',
};

function nominalOf(notice: Notice, { graceMs, from }: GraceFacts['nominal']): Candidate {
  return {
    deadlineMs: notice.atMs + graceMs,
    confidence: from === 'default' ? 'guess' : 'known',
    reason: `${CAUSES[notice.cause].label} leaves ${formatDuration(graceMs)} (${TOLD_BY[from]})`,
  };
}

/**
 * The shortening that the kind of node implies: the node itself goes away, and its shutdown takes a
 * share of the time.
 */
const RECLAIMS: ReadonlySet<Cause> = new Set(['gcp-preempted', 'aws-spot', 'azure-preempt', 'node-shutdown'] satisfies Cause[]);

function nodeLimits(notice: Notice, { node }: GraceFacts): readonly Candidate[] {
  if (node === null) return [];
  const { graceMs, reason } = NODE_KINDS[node];
  return [{ deadlineMs: notice.atMs + graceMs, confidence: 'guess', reason }];
}

/** The limits on the grace of a notice without a deadline. */
function limitsOf(notice: Notice, facts: GraceFacts, all: readonly Notice[]): readonly Candidate[] {
  const told = facts.limits.map((limit) => ({
    deadlineMs: 'deadlineMs' in limit ? limit.deadlineMs : notice.atMs + limit.graceMs,
    confidence: 'known' as const,
    reason: limit.reason,
  }));
  if (notice.cause === 'node-shutdown') return [...told, ...nodeLimits(notice, facts)];
  if (notice.cause !== 'sigterm') return told;
  // If another notice already explained a signal, the signal does not count as a worse cause.
  const before = all.filter((other) => other !== notice && other.atMs <= notice.atMs);
  if (before.length > 0) return before.some(({ cause }) => RECLAIMS.has(cause)) ? [...told, ...nodeLimits(notice, facts)] : told;
  const pressure = facts.pressure.map(({ resource, seen }) => ({
    deadlineMs: notice.atMs + EVICTION_GRACE_MS,
    confidence: 'guess' as const,
    reason: `this may be an eviction, which leaves ${formatDuration(EVICTION_GRACE_MS)}: the node is short of ${resource} (${seen})`,
  }));
  return [...told, ...nodeLimits(notice, facts), ...pressure];
}

/** The candidates that each moved the deadline forward, beginning with the latest deadline. */
function shortenings(candidates: readonly Candidate[]): readonly Candidate[] {
  const chain: Candidate[] = [];
  for (const candidate of candidates.toSorted((a, b) => b.deadlineMs - a.deadlineMs)) {
    const last = chain.at(-1);
    if (last === undefined || candidate.deadlineMs < last.deadlineMs) chain.push(candidate);
    // Of two equal deadlines, a stated one outranks a guess.
    else if (last.confidence === 'guess' && candidate.confidence === 'known') chain[chain.length - 1] = candidate;
  }
  return chain;
}
