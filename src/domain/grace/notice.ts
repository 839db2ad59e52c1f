/** The source of a notice. */
export type NoticeSource = 'signal' | 'metadata' | 'watched-file' | 'pressure' | 'cluster';

interface CauseFacts {
  /** The notice as printed: "notice: SIGTERM". */
  readonly label: string;
  /**
   * Whether the attempt ends because of it. An advisory cause triggers a save, may be withdrawn and
   * never changes the exit code.
   */
  readonly terminating: boolean;
  /**
   * The time from the notice on, when the notice names no deadline. Null: unknown, the nominal
   * grace holds.
   */
  readonly usualGraceMs: number | null;
}

/**
 * SIGTERM to SIGKILL when the kubelet evicts a pod: its override of one second, raised to the floor
 * of two.
 */
export const EVICTION_GRACE_MS = 2000;

/** Every cause of a notice, with the defaults for facts that the notice omits. */
export const CAUSES = {
  sigterm: { label: 'SIGTERM', terminating: true, usualGraceMs: null },
  'ctrl-c': { label: 'Ctrl-C', terminating: true, usualGraceMs: null },
  hangup: { label: 'the terminal was closed (SIGHUP)', terminating: true, usualGraceMs: null },
  'gcp-preempted': { label: 'Spot reclaim (Google Cloud)', terminating: true, usualGraceMs: 30_000 },
  'gcp-maintenance': { label: 'host maintenance ahead (Google Cloud)', terminating: false, usualGraceMs: 60_000 },
  'aws-spot': { label: 'Spot reclaim (AWS)', terminating: true, usualGraceMs: 120_000 },
  'aws-rebalance': { label: 'rebalance recommendation (AWS)', terminating: false, usualGraceMs: null },
  'aws-maintenance': { label: 'scheduled maintenance (AWS)', terminating: false, usualGraceMs: null },
  'azure-preempt': { label: 'Spot reclaim (Azure)', terminating: true, usualGraceMs: 30_000 },
  'azure-terminate': { label: 'the machine is being terminated (Azure)', terminating: true, usualGraceMs: 300_000 },
  'azure-maintenance': { label: 'scheduled maintenance (Azure)', terminating: false, usualGraceMs: null },
  preemption: { label: 'preemption by a higher priority', terminating: true, usualGraceMs: null },
  drain: { label: 'the node is drained', terminating: true, usualGraceMs: null },
  suspend: { label: 'suspended', terminating: true, usualGraceMs: null },
  'node-shutdown': { label: 'the node shuts down', terminating: true, usualGraceMs: null },
  'eviction-hard': { label: 'node-pressure eviction', terminating: true, usualGraceMs: EVICTION_GRACE_MS },
  'eviction-soft': { label: 'node-pressure eviction (soft)', terminating: true, usualGraceMs: EVICTION_GRACE_MS },
  'storage-limit': { label: 'over the limit for ephemeral storage', terminating: true, usualGraceMs: EVICTION_GRACE_MS },
  pressure: { label: 'the node comes under pressure', terminating: false, usualGraceMs: null },
  'save-requested': { label: 'a save was asked for', terminating: false, usualGraceMs: null },
} as const satisfies Readonly<Record<string, CauseFacts>>;

/** The name of a cause in {@link CAUSES}. */
export type Cause = keyof typeof CAUSES;

/**
 * The first warning of an interruption, or an advice to save. Times are milliseconds since 1970.
 */
export interface Notice {
  readonly cause: Cause;
  readonly atMs: number;
  /** When the process will be killed, if the notice names it. */
  readonly deadlineMs: number | null;
  /** Whether the notice stated its cause and deadline, or Holdfast inferred them. */
  readonly confidence: 'known' | 'guess';
  readonly terminating: boolean;
  readonly source: NoticeSource;
  /** The words of the source, for people: "instance-action terminate". */
  readonly detail: string | null;
}

/** A notice with the defaults of its cause filled in. */
export function makeNotice(
  facts: Pick<Notice, 'cause' | 'atMs' | 'source'> & Partial<Pick<Notice, 'deadlineMs' | 'confidence' | 'terminating' | 'detail'>>,
): Notice {
  const { deadlineMs = null } = facts;
  return {
    deadlineMs,
    // A bare signal carries no cause. A notice that names its cause or deadline is known.
    confidence: facts.source === 'signal' && deadlineMs === null ? 'guess' : 'known',
    terminating: CAUSES[facts.cause].terminating,
    detail: null,
    ...facts,
  };
}

/** Whether the text is the name of a cause in {@link CAUSES}. */
export function isCause(text: string): text is Cause {
  return Object.hasOwn(CAUSES, text);
}

/**
 * The notices with one more. A repeated notice (metadata is polled) counts once: it keeps its first
 * time and the earlier of the two deadlines.
 */
export function addNotice(notices: readonly Notice[], notice: Notice): readonly Notice[] {
  const index = notices.findIndex((known) => isSame(known, notice));
  const known = notices[index];
  if (known === undefined) return [...notices, notice];
  return notices.with(index, {
    ...notice,
    atMs: Math.min(known.atMs, notice.atMs),
    deadlineMs: earlier(known.deadlineMs, notice.deadlineMs),
    terminating: known.terminating || notice.terminating,
  });
}

/**
 * The notices without a withdrawn advice. A notice that ends the attempt stays, because the lost
 * time does not come back.
 */
export function withdrawNotice(notices: readonly Notice[], { cause, source }: Pick<Notice, 'cause' | 'source'>): readonly Notice[] {
  return notices.filter((known) => known.terminating || !isSame(known, { cause, source }));
}

/** The first notice that ends the attempt, or null. */
export function firstTerminating(notices: readonly Notice[]): Notice | null {
  return notices.filter(({ terminating }) => terminating).sort((a, b) => a.atMs - b.atMs)[0] ?? null;
}

function isSame(a: Pick<Notice, 'cause' | 'source'>, b: Pick<Notice, 'cause' | 'source'>): boolean {
  return a.cause === b.cause && a.source === b.source;
}

function earlier(a: number | null, b: number | null): number | null {
  if (a === null) return b;
  return b === null ? a : Math.min(a, b);
}
