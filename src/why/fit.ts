import type { EventOf } from '../ledger/events.ts';
import type { EndCause } from '../domain/causes/catalogue.ts';
import { causeGrace, type GraceCause } from '../domain/grace/cause-grace.ts';
import { podGraceOf } from '../kube/objects/grace-facts.ts';
import { podSpecOf } from '../kube/objects/pod-spec.ts';
import { saveNeedOf } from '../ledger/save-need.ts';
import type { WhyFacts } from './facts/facts.ts';
import { deletedAtMs } from './rules/deletion.ts';
import { noticesOf } from './rules/ledger.ts';

/** Whether a save would have fitted the time that the pod had. */
export interface Fit {
  /** The trainer’s time from its first notice to its kill; 0: no notice. */
  readonly graceMs: number;
  readonly because: string;
  /** The part of it that the trainer used; null: unknown. */
  readonly usedMs: number | null;
  /** The P95 of its saves; null: no ledger. */
  readonly needMs: number | null;
  /** What the supervisor reckoned for a save when the notice came; null: it made no decision. */
  readonly decidedMs: number | null;
  readonly fits: boolean | null;
}

/** The line of `grace` for each cause. Ends by the trainer itself have none. */
const GRACE_OF: Partial<Readonly<Record<EndCause, GraceCause>>> = {
  SCHEDULER_PREEMPTION: 'preemption',
  API_EVICTION: 'drain',
  NODE_TAINT: 'taint',
  NODE_LOST: 'node-lost',
  NODE_DELETED: 'node-deleted',
  MACHINE_SHUTDOWN: 'shutdown',
  SPOT_RECLAIM: 'reclaim',
  MEMORY_PRESSURE: 'hard-pressure',
  DISK_PRESSURE: 'hard-pressure',
  PID_PRESSURE: 'hard-pressure',
  NODE_PRESSURE: 'hard-pressure',
  CRITICAL_POD: 'critical-pod',
  POD_DELETED: 'delete',
  OWNER_DELETED: 'delete',
  GANG_STOPPED: 'delete',
  JOB_SUSPENDED: 'suspend',
  JOB_DEADLINE: 'delete',
  JOB_ENDED: 'delete',
  EMPTY_DIR_LIMIT: 'storage-limit',
  EPHEMERAL_STORAGE_LIMIT: 'storage-limit',
  OUT_OF_MEMORY: 'oom',
  NODE_OUT_OF_MEMORY: 'oom',
};

/**
 * The time that the pod had, beside the duration of a save; null for an end without a grace. A
 * ledger shows the time also if the cause is unknown.
 */
export function fitOf(cause: EndCause, facts: WhyFacts): Fit | null {
  const line = GRACE_OF[cause];
  if (line === undefined && cause !== 'CANNOT_TELL') return null;
  const given = recordedGrace(facts) ?? (line === undefined ? null : grantedByChain(line, facts));
  if (given === null) return null;
  const needMs = saveNeedOf(facts.ledger)?.p95Ms ?? null;
  const decidedMs = decisionOf(facts)?.numbers.needMs ?? null;
  const need = decidedMs ?? needMs;
  return { ...given, usedMs: usedMs(facts), needMs, decidedMs, fits: need === null ? null : need <= given.graceMs };
}

/** What the supervisor decided about a last save. */
function decisionOf({ lane }: WhyFacts): EventOf<'decision'> | null {
  const found = lane?.events.findLast(({ event }) => event.kind === 'decision')?.event;
  return found?.kind === 'decision' ? found : null;
}

/** The grace that the supervisor computed at the time, with the same chain. */
function recordedGrace({ lane }: WhyFacts): Pick<Fit, 'graceMs' | 'because'> | null {
  const found = lane?.events.findLast(({ event }) => event.kind === 'deadline')?.event;
  if (found?.kind !== 'deadline') return null;
  return { graceMs: found.graceMs, because: found.reasons.at(-1)?.reason ?? 'the ledger records it' };
}

/** These leave the same time whatever the manifest says. */
const LIKE_FOR_ALL: ReadonlySet<GraceCause> = new Set(['node-lost', 'oom', 'hard-pressure', 'storage-limit', 'node-deleted']);

function grantedByChain(line: GraceCause, facts: WhyFacts): Pick<Fit, 'graceMs' | 'because'> | null {
  const { pod } = facts;
  const spec = facts.spec ?? (LIKE_FOR_ALL.has(line) ? podSpecOf({}) : null);
  if (spec === null) return null;
  const { deletionGraceSeconds, deletionMs } = pod?.object ?? NOT_DELETED;
  // 0 marks the last deletion, by the kubelet itself.
  const deleteSeconds = deletionMs === null || deletionGraceSeconds === 0 ? null : deletionGraceSeconds;
  const { graceMs, links } = causeGrace(line, podGraceOf(spec, { deleteSeconds }));
  return { graceMs, because: links.at(-1)?.reason ?? '' };
}

const NOT_DELETED = { deletionGraceSeconds: null, deletionMs: null };

/** The time of the first notice, from any source. */
function toldAtMs(facts: WhyFacts): number | null {
  const condition = facts.pod?.conditions.find(({ type, status }) => type === 'DisruptionTarget' && status === 'True')?.sinceMs ?? null;
  const killing = facts.events.find(({ reason }) => reason === 'Killing')?.atMs ?? null;
  const times = [noticesOf(facts)[0]?.noticedMs ?? null, deletedAtMs(facts), condition, killing].filter((ms) => ms !== null);
  return times.length === 0 ? null : Math.min(...times);
}

function usedMs(facts: WhyFacts): number | null {
  const [from, to] = [toldAtMs(facts), facts.ended?.finishedMs ?? null];
  return from === null || to === null || to < from ? null : to - from;
}
