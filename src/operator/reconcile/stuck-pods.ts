import { excerpt } from '../../core/printable.ts';
import { type RunRecord } from '../training-run/record.ts';
import { type Draft, type Facts, phase, tell } from './draft.ts';
import type { ObservedPod } from './observed-pod.ts';
import { currentPods } from './places.ts';

/** Why a pod does not start. */
interface Hindrance {
  /** A clause about the pod, the same at every look. */
  readonly what: string;
  /** What the kubelet or the scheduler says, which may change at every look; null: nothing. */
  readonly words: string | null;
  readonly wayOut: string;
  /** For how long a pod may wait like this before anyone is told. */
  readonly patienceMs: number;
}

/** The first tries often fail, and machines often come a little later. */
const SHORT_MS = 30_000;
/** A large image takes minutes. */
const LONG_MS = 5 * 60_000;
const LONGEST_WORDS = 300;

const PULLING: ReadonlySet<string> = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'ImageInspectError',
  'ErrImageNeverPull',
]);
const STARTING: ReadonlySet<string> = new Set(['ContainerCreating', 'PodInitializing']);

/** Whether the image of a container of the pod cannot be pulled. */
export function lacksImage({ waiting }: Pick<ObservedPod, 'waiting'>): boolean {
  return waiting.some(({ reason }) => PULLING.has(reason));
}

/**
 * Says why the gang does not start: what hinders its pod, and the way out. The record has the same
 * words at every look, and `said` is what it had before: one event tells of each reason.
 */
export function noteStuck(facts: Facts, draft: Draft, said: string): Draft {
  const { record } = draft;
  if (record.phase !== 'Starting' && record.phase !== 'Restarting') return draft;
  const first = stuckPods(facts, record).find(({ atMs }) => atMs <= facts.nowMs);
  if (first === undefined) return draft;
  const { name, hindrance } = first;
  const why = `${name} ${hindrance.what}`;
  const words = hindrance.words === null ? '' : ` (${excerpt(hindrance.words, LONGEST_WORDS)})`;
  const told = said.includes(why) ? draft : tell(draft, 'Warning', 'PodNotStarting', `${why}${words}: ${hindrance.wayOut}`);
  return phase(told, record.phase, `${record.message}: ${why}`);
}

/** When the next pod has waited for so long that a person should know; null: none waits. */
export function stuckStepMs(facts: Facts, record: RunRecord): number | null {
  const times = stuckPods(facts, record).flatMap(({ atMs }) => (atMs > facts.nowMs ? [atMs] : []));
  return times.length === 0 ? null : Math.min(...times);
}

interface Stuck {
  readonly name: string;
  readonly hindrance: Hindrance;
  /** Since when it counts as stuck. */
  readonly atMs: number;
}

/** The pods of the current attempt that do not start, those with a known reason first. */
function stuckPods({ job, pods }: Facts, record: RunRecord): readonly Stuck[] {
  const found = [...currentPods(job, record, pods).values()].flatMap((pod) => {
    const hindrance = hindranceOf(pod);
    return hindrance === null ? [] : [{ name: pod.name, hindrance, atMs: pod.createdMs + hindrance.patienceMs }];
  });
  return found.toSorted((a, b) => a.hindrance.patienceMs - b.hindrance.patienceMs);
}

function hindranceOf(pod: ObservedPod): Hindrance | null {
  if (pod.phase !== 'Pending' || pod.isTerminating) return null;
  if (pod.isUnschedulable) return unschedulable(pod.unschedulableFor);
  const waiting = pod.waiting.find(({ reason }) => !STARTING.has(reason));
  if (waiting !== undefined) return { ...hindered(waiting.reason), words: waiting.message, patienceMs: SHORT_MS };
  if (pod.node === null || pod.hasBegun) return null;
  const what = `has a node, and its containers do not start`;
  const wayOut = 'its volumes may not be mounted, or its image is still being pulled: kubectl describe pod says which';
  return { what, words: null, wayOut, patienceMs: LONG_MS };
}

function unschedulable(words: string | null): Hindrance {
  if (words !== null && /persistentvolumeclaim|persistent volume/i.test(words)) {
    const wayOut = 'create the claim, or see with kubectl describe pvc why it does not bind';
    return { what: 'waits for a volume that does not bind', words, wayOut, patienceMs: SHORT_MS };
  }
  const wayOut = 'make room or add nodes. The annotation holdfast.dev/start-deadline frees what the other pods hold meanwhile';
  return { what: 'fits no node', words, wayOut, patienceMs: SHORT_MS };
}

function hindered(reason: string): Pick<Hindrance, 'what' | 'wayOut'> {
  if (PULLING.has(reason)) {
    const wayOut =
      'correct the image or the imagePullSecrets of the job, then delete the pod: the next attempt uses what the job says then';
    return { what: 'cannot pull its image', wayOut };
  }
  if (reason === 'CreateContainerConfigError') {
    return { what: 'lacks something that its containers name', wayOut: 'create the ConfigMap, the Secret or the key that is missing' };
  }
  return { what: `waits with ${reason}`, wayOut: 'kubectl describe pod and kubectl logs say why' };
}
