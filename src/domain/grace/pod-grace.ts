import type { ManifestGrace } from './effective-grace.ts';
import type { CloudName } from './clouds.ts';
import { EVICTION_GRACE_MS } from './notice.ts';

/** Whether the program receives SIGTERM, and why. */
export interface Hearing {
  /** `maybe`: the program receives the signal, and only its code decides what it does. */
  readonly hears: 'yes' | 'maybe' | 'no';
  readonly reason: string;
  /** What to write in the command so that the program receives the signal, if it does not. */
  readonly remedy?: string;
}

/** The kubelet settings of the node; null: unknown, so the kubelet’s defaults hold. */
export interface KubeletGrace {
  readonly shutdownSeconds: number | null;
  readonly shutdownCriticalSeconds: number | null;
  readonly evictionMaxPodSeconds: number | null;
  /** `shutdownGracePeriodByPodPriority`, which replaces the two periods above; empty: not set. */
  readonly shutdownGroups: readonly ShutdownGroup[];
}

/** The pods from this priority on get these seconds, up to the next group. */
export interface ShutdownGroup {
  readonly priority: number;
  readonly seconds: number;
}

/** The facts that decide how long a pod has, from its manifest, its node and the command line. */
export interface PodGrace {
  /** Null: the manifest does not set it. */
  readonly graceSeconds: number | null;
  /**
   * The grace of the deletion request, as with `kubectl delete --grace-period`; null: the pod’s
   * own.
   */
  readonly deleteSeconds: number | null;
  /**
   * A hook that runs before SIGTERM inside the same grace; `seconds` null: its duration is unknown.
   */
  readonly preStop: { readonly seconds: number | null } | null;
  /** The time that a launcher inside the pod leaves its workers, as torchrun does. */
  readonly launcher: { readonly seconds: number; readonly reason: string } | null;
  /** The grace that an admission policy sets. */
  readonly clamp: { readonly seconds: number; readonly by: string } | null;
  readonly hearing: Hearing;
  /** The program runs under the supervisor, which also reads the metadata service. */
  readonly isSupervised: boolean;
  readonly kubelet: KubeletGrace;
  readonly cloud: CloudName | null;
  readonly priority: number;
  /** How long the pod tolerates a node that does not report, before its grace begins. */
  readonly tolerationSeconds: number;
}

/** The defaults of a kubelet. */
export const DEFAULT_KUBELET: KubeletGrace = {
  shutdownSeconds: null,
  shutdownCriticalSeconds: null,
  evictionMaxPodSeconds: null,
  shutdownGroups: [],
};

/** The default grace of Kubernetes. */
const DEFAULT_SECONDS = 30;

/**
 * The grace that a kubelet gives for a number of seconds. It always waits two seconds before
 * SIGKILL.
 */
export function grantedMs(seconds: number): number {
  return Math.max(EVICTION_GRACE_MS, seconds * 1000);
}

/** The grace in the pod’s manifest. */
export function manifestGrace({ graceSeconds }: Pick<PodGrace, 'graceSeconds'>): ManifestGrace {
  if (graceSeconds === null) return { graceMs: DEFAULT_SECONDS * 1000, from: 'api-default' };
  return { graceMs: grantedMs(graceSeconds), from: 'manifest' };
}
