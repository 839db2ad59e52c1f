import { formatDuration } from '../../core/duration.ts';
import { type Deadline, type DeadlineReason, effectiveDeadline, type GraceLimit, type NodeKind } from './effective-grace.ts';
import { type Cause, EVICTION_GRACE_MS, makeNotice, type Notice } from './notice.ts';
import { type Cloud, CLOUDS } from './clouds.ts';
import { grantedMs, type KubeletGrace, manifestGrace, type PodGrace, type ShutdownGroup } from './pod-grace.ts';

/** The possible ends of a pod, in the order of the report. */
export const GRACE_CAUSES = {
  delete: 'the pod is deleted',
  drain: 'drain, eviction API',
  preemption: 'scheduler preemption',
  taint: 'NoExecute taint',
  suspend: 'Kueue or Job suspend',
  'critical-pod': 'critical pod (kubelet)',
  'force-delete': 'deleted by force',
  shutdown: 'graceful node shutdown',
  reclaim: 'Spot reclaim',
  'bounded-life': 'maximum node lifetime',
  'soft-pressure': 'node pressure, soft',
  'hard-pressure': 'node pressure, hard',
  'storage-limit': 'storage limits',
  'node-deleted': 'node object deleted',
  oom: 'out of memory',
  'node-lost': 'node lost',
} as const;

/** The name of a cause in {@link GRACE_CAUSES}. */
export type GraceCause = keyof typeof GRACE_CAUSES;

/** The time that one cause leaves a pod from SIGTERM to SIGKILL. */
export interface CauseGrace {
  readonly cause: GraceCause;
  /** 0: there is no notice before the end. */
  readonly graceMs: number;
  readonly isTold: boolean;
  /** Whether the program receives the notice, if there is one. */
  readonly isHeard: boolean;
  readonly confidence: 'known' | 'guess';
  /** The chain of minima, longest first. For a cause without a notice, why there is none. */
  readonly links: readonly DeadlineReason[];
  readonly note: string | null;
}

/** The causes that can end this pod. Reclaims count only on machines that a cloud reclaims. */
export function possibleCauses({ cloud }: PodGrace): readonly GraceCause[] {
  const known = cloud === null ? null : CLOUDS[cloud];
  return (Object.keys(GRACE_CAUSES) as GraceCause[]).filter((cause) => {
    if (cause === 'reclaim') return known !== null && known.notice !== null;
    if (cause === 'bounded-life') return known !== null && known.lifeHours !== null;
    return true;
  });
}

/** The time that the pod has for this cause, by the supervisor’s own chain. */
export function causeGrace(cause: GraceCause, pod: PodGrace): CauseGrace {
  const { untold, notices, limits, node, note } = wayOf(cause, pod);
  if (untold !== null) return nothing(cause, untold, note);
  const nominal =
    cause === 'delete' && pod.deleteSeconds !== null
      ? { graceMs: grantedMs(pod.deleteSeconds), from: 'request' as const }
      : manifestGrace(pod);
  // A preStop takes from the time that the kubelet gives, and the kubelet still leaves two seconds.
  // The launcher counts from SIGTERM, which comes after the preStop.
  const [ofLauncher, ofKubelet] = [limits.filter(({ isFromSigterm }) => isFromSigterm), limits.filter((one) => !one.isFromSigterm)];
  const facts = { nominal, notices, node, pressure: [], limits: ofKubelet };
  const before = effectiveDeadline(facts);
  const left = before === null || isShort(cause) ? null : preStopLimit(pod, before.graceMs);
  const chain = effectiveDeadline({ ...facts, limits: [...ofKubelet, ...(left === null ? [] : [left]), ...ofLauncher] });
  const deadline = chain === null ? null : withinLauncher(chain, ofLauncher);
  if (deadline === null) return nothing(cause, 'there is no notice before the end', note);
  return {
    cause,
    graceMs: deadline.graceMs,
    isTold: true,
    isHeard: pod.hearing.hears !== 'no',
    confidence: deadline.confidence,
    links: deadline.reasons,
    note:
      note ??
      (pod.preStop !== null && pod.preStop.seconds === null ? 'a preStop hook runs inside the grace; its duration is unknown' : null),
  };
}

/** An eviction with a time of its own is a SIGTERM for the launcher, too. */
function withinLauncher(deadline: Deadline, limits: readonly PodLimit[]): Deadline {
  const [shortest] = limits.toSorted((a, b) => a.graceMs - b.graceMs);
  if (shortest === undefined || shortest.graceMs >= deadline.graceMs) return deadline;
  const { graceMs, reason } = shortest;
  return { ...deadline, graceMs, reasons: [...deadline.reasons, { deadlineMs: graceMs, reason }] };
}

type PodLimit = Extract<GraceLimit, { readonly graceMs: number }> & {
  /** It counts from SIGTERM, not from the beginning of the grace. */
  readonly isFromSigterm?: boolean;
};

interface Way {
  /** Why there is no notice at all. */
  readonly untold: string | null;
  readonly notices: readonly Notice[];
  readonly limits: readonly PodLimit[];
  readonly node: NodeKind | null;
  readonly note: string | null;
}

/** Whether this cause leaves two seconds, whatever the manifest says. */
function isShort(cause: GraceCause): boolean {
  return cause === 'hard-pressure' || cause === 'storage-limit' || cause === 'force-delete' || cause === 'node-deleted';
}

function wayOf(cause: GraceCause, pod: PodGrace): Way {
  const way: Make = (told, more = {}) => ({
    untold: null,
    notices: [makeNotice({ cause: told, atMs: 0, source: 'cluster', deadlineMs: more.deadlineMs ?? null })],
    limits: podLimits(pod),
    node: null,
    note: null,
    ...more,
  });
  return WAYS[cause](pod, way);
}

type FindWay = (pod: PodGrace, way: Make) => Way;

const byTheApi: FindWay = (_, way) => way('sigterm');
const WAYS: Readonly<Record<GraceCause, FindWay>> = {
  delete: byTheApi,
  'force-delete': (_, way) => way('sigterm', { limits: [forced('a deletion by force leaves 2s, whatever the pod asks for')] }),
  drain: byTheApi,
  preemption: byTheApi,
  taint: (pod, way) =>
    way('sigterm', {
      note: `if a node stops reporting, the taint ends the pod after ${formatDuration(1000 * pod.tolerationSeconds)} of toleration`,
    }),
  suspend: byTheApi,
  'critical-pod': byTheApi,
  shutdown: (pod, way) => shutdown(pod, way),
  reclaim: (pod, way) => reclaim(pod, way),
  'bounded-life': (pod, way) => reclaim(pod, way),
  'soft-pressure': (pod, way) => softPressure(pod, way),
  'hard-pressure': (_, way) => way('eviction-hard'),
  'storage-limit': (_, way) => way('storage-limit', { note: 'the disk may be full' }),
  'node-deleted': (_, way) => way('sigterm', { limits: [forced('the pods of a deleted node are deleted by force, which leaves 2s')] }),
  oom: (_, way) => way('sigterm', { untold: 'the kernel sends SIGKILL at once' }),
  'node-lost': (_, way) => way('sigterm', { untold: 'the machine is gone before any notice reaches the pod' }),
};

type Make = (told: Cause, more?: Partial<Way> & { readonly deadlineMs?: number }) => Way;

function softPressure(pod: PodGrace, way: Make): Way {
  const granted = pod.kubelet.evictionMaxPodSeconds ?? 0;
  if (granted <= 0) return way('eviction-soft', { note: 'evictionMaxPodGracePeriod is 0 by default' });
  const cap = { reason: `evictionMaxPodGracePeriod leaves ${granted}s`, graceMs: grantedMs(granted) };
  return way('sigterm', { limits: [...podLimits(pod), cap] });
}

function shutdown(pod: PodGrace, way: Make): Way {
  const { shutdownSeconds, shutdownGroups } = pod.kubelet;
  if (shutdownGroups.length > 0) return way('sigterm', { limits: [...podLimits(pod), groupShare(pod, shutdownGroups)] });
  const known = pod.cloud === null ? null : CLOUDS[pod.cloud];
  if (shutdownSeconds === null && known?.told !== 'kubelet') {
    return {
      ...way('node-shutdown'),
      untold: 'shutdownGracePeriod is 0 by default, and then the kubelet sends its pods no SIGTERM',
      note: 'the kubelet’s setting is unknown: give it with --kubelet or --shutdown',
    };
  }
  if (shutdownSeconds === null) return way('node-shutdown', { node: known?.kind ?? null });
  if (shutdownSeconds <= 0) return { ...way('node-shutdown'), untold: 'the kubelet has no graceful shutdown' };
  return way('sigterm', { limits: [...podLimits(pod), shutdownShare(pod, shutdownSeconds)] });
}

/** The kubelet calls pods from this priority on critical, and stops them last. */
const CRITICAL_PRIORITY = 2_000_000_000;

function shutdownShare({ kubelet, priority }: PodGrace, total: number): PodLimit {
  const critical = Math.min(total, kubelet.shutdownCriticalSeconds ?? 0);
  if (priority >= CRITICAL_PRIORITY) {
    return { reason: `shutdownGracePeriodCriticalPods leaves critical pods ${critical}s`, graceMs: grantedMs(critical) };
  }
  const share = critical > 0 ? `${total}s less the ${critical}s of critical pods` : `${total}s`;
  return { reason: `shutdownGracePeriod leaves ordinary pods ${share}`, graceMs: 1000 * (total - critical) };
}

/** Whether the kubelet's own settings for a shutdown are known. */
function hasShutdown({ shutdownSeconds, shutdownGroups }: KubeletGrace): boolean {
  return shutdownSeconds !== null || shutdownGroups.length > 0;
}

/** A pod belongs to the group with the highest priority that is not above its own. */
function groupShare({ priority }: PodGrace, groups: readonly ShutdownGroup[]): PodLimit {
  const rising = groups.toSorted((a, b) => a.priority - b.priority);
  const { seconds, priority: from } = rising.findLast((group) => group.priority <= priority) ?? rising[0] ?? { seconds: 0, priority: 0 };
  return { reason: `shutdownGracePeriodByPodPriority leaves pods of priority ${from} and above ${seconds}s`, graceMs: grantedMs(seconds) };
}

/** The end of a machine: the sooner of its own notice and the pod’s. */
function reclaim(pod: PodGrace, way: Make): Way {
  const cloud = pod.cloud === null ? null : CLOUDS[pod.cloud];
  if (cloud === null) return way('sigterm', { untold: 'these nodes are not known to be reclaimed' });
  const { told, note } = cloud;
  if (told === 'metadata' && !pod.isSupervised) {
    return way('sigterm', { untold: 'only the metadata service announces it; holdfast run reads that', note });
  }
  const ending = endingOf(pod, told, way);
  if (ending !== null && ending.untold !== null) return ending;
  // The kubelet’s own settings replace the usual values for such nodes.
  const isConfigured = told === 'kubelet' && hasShutdown(pod.kubelet);
  const kind = isConfigured ? null : cloud.kind;
  const own = isConfigured || cloud.notice === null ? [] : way(cloud.notice, { node: kind }).notices;
  return {
    untold: null,
    notices: ending === null ? own : [...own, ...ending.notices],
    limits: ending === null ? [] : ending.limits,
    node: kind,
    note,
  };
}

function endingOf(pod: PodGrace, told: Cloud['told'], way: Make): Way | null {
  if (told === 'kubelet') return shutdown(pod, way);
  return told === 'drain' ? way('sigterm') : null;
}

function forced(reason: string): PodLimit {
  return { reason, graceMs: EVICTION_GRACE_MS };
}

function podLimits({ launcher, clamp }: PodGrace): readonly PodLimit[] {
  return [
    ...(clamp === null ? [] : [{ reason: `${clamp.by} shortens it to ${clamp.seconds}s`, graceMs: grantedMs(clamp.seconds) }]),
    ...(launcher === null ? [] : [{ reason: launcher.reason, graceMs: launcher.seconds * 1000, isFromSigterm: true }]),
  ];
}

function preStopLimit({ preStop }: PodGrace, graceMs: number): PodLimit | null {
  if (preStop === null || preStop.seconds === null || preStop.seconds <= 0) return null;
  const leftMs = Math.max(Math.min(graceMs, EVICTION_GRACE_MS), graceMs - preStop.seconds * 1000);
  return { reason: `preStop takes ${preStop.seconds}s of it before SIGTERM`, graceMs: leftMs };
}

function nothing(cause: GraceCause, reason: string, note: string | null): CauseGrace {
  return { cause, graceMs: 0, isTold: false, isHeard: false, confidence: 'known', links: [{ deadlineMs: 0, reason }], note };
}
