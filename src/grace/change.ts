import type { PodGrace } from '../domain/grace/pod-grace.ts';

/** A change to the manifest, the node or the start of the program. */
export interface Change {
  readonly setting: string;
  readonly value: string;
  readonly because: string;
  /** The causes that the change turns green. */
  readonly turns: readonly string[];
}

interface Candidate extends Omit<Change, 'turns'> {
  readonly apply: (pod: PodGrace) => PodGrace;
}

/** Room for the end of the trainer, and for saves slower than the P95. */
const MARGIN = 1.25;
const RESERVE_SECONDS = 5;
/** Pods do not wait longer than a day to end. Such a save must become smaller or faster. */
const MOST_SECONDS = 86_400;

/**
 * The change that turns most causes green. Between equal changes, the smaller one wins. If no
 * single change helps, tries two together; null if that does not help either.
 */
export function bestChange(pod: PodGrace, saveMs: number, savedBy: (pod: PodGrace, saveMs: number) => ReadonlySet<string>): Change | null {
  const before = savedBy(pod, saveMs);
  const wanted = Math.ceil((saveMs * MARGIN) / 1000) + RESERVE_SECONDS;
  if (wanted > MOST_SECONDS) return null;
  const single = candidates(pod, wanted);
  const best = (among: readonly Candidate[]): Change | null => {
    let found: Change | null = null;
    for (const { apply, ...change } of among) {
      const turns = [...savedBy(apply(pod), saveMs)].filter((cause) => !before.has(cause));
      if (turns.length > (found?.turns.length ?? 0)) found = { ...change, turns };
    }
    return found;
  };
  return best(single) ?? best(single.flatMap((first, index) => single.slice(index + 1).map((second) => together(first, second))));
}

function together(first: Candidate, second: Candidate): Candidate {
  return {
    setting: `${first.setting}: ${first.value}, and ${second.setting}`,
    value: second.value,
    because: `${first.because}; and ${second.because}`,
    apply: (pod) => second.apply(first.apply(pod)),
  };
}

/** Ordered by how little they change: the manifest first, then the launcher, then the nodes. */
function candidates(pod: PodGrace, seconds: number): readonly Candidate[] {
  const preStop = pod.preStop?.seconds ?? 0;
  return [
    {
      setting: 'terminationGracePeriodSeconds',
      value: String(seconds + preStop),
      because: 'a deletion through the API gives the pod’s whole grace, and a save takes longer',
      apply: (of) => ({ ...of, graceSeconds: Math.max(of.graceSeconds ?? 30, seconds + preStop) }),
    },
    {
      setting: 'command',
      value: pod.hearing.remedy ?? 'exec',
      because: pod.hearing.reason,
      apply: (of) => ({ ...of, hearing: { hears: 'maybe', reason: '' } }),
    },
    {
      setting: 'lifecycle.preStop',
      value: 'none',
      because: 'it runs inside the grace, before SIGTERM',
      apply: (of) => ({ ...of, preStop: null }),
    },
    {
      setting: 'TORCH_ELASTIC_SHUTDOWN_TIMEOUT',
      value: String(seconds),
      because: 'torchrun kills its workers after that, whatever the pod’s grace is',
      apply: (of) => ({
        ...of,
        launcher: of.launcher === null ? null : { ...of.launcher, seconds: Math.max(seconds, of.launcher.seconds) },
      }),
    },
    {
      setting: 'the admission policy',
      value: `at least ${seconds}s`,
      because: 'it shortens the grace in the manifest',
      apply: (of) => ({ ...of, clamp: null }),
    },
    {
      setting: 'command',
      value: 'holdfast run -- …',
      because: 'the supervisor reads the machine’s metadata service; nothing else in the pod does',
      apply: (of) => ({ ...of, isSupervised: true, hearing: { hears: 'yes', reason: '' } }),
    },
    {
      setting: `${pod.kubelet.shutdownGroups.length > 0 ? 'shutdownGracePeriodByPodPriority' : 'shutdownGracePeriod'} (kubelet)`,
      value: `${seconds + (pod.kubelet.shutdownGroups.length > 0 ? 0 : (pod.kubelet.shutdownCriticalSeconds ?? 0))}s`,
      because: 'a shutdown leaves pods only that long',
      apply: (of) => ({
        ...of,
        kubelet: { ...of.kubelet, shutdownSeconds: seconds + (of.kubelet.shutdownCriticalSeconds ?? 0), shutdownGroups: [] },
      }),
    },
    {
      setting: 'evictionMaxPodGracePeriod (kubelet)',
      value: String(seconds),
      because: 'by default a soft eviction leaves two seconds',
      apply: (of) => ({ ...of, kubelet: { ...of.kubelet, evictionMaxPodSeconds: seconds } }),
    },
  ];
}
