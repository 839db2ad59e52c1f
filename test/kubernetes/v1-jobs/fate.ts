import type { Role } from '../scenario/gang-causes.ts';

/** A pod of a gang, as it is now. */
export interface SeenPod {
  readonly uid: string;
  readonly phase: string;
  readonly isTerminating: boolean;
  /** How often its kubelet restarted the trainer in place. */
  readonly restarts: number;
}

/** A gang of two, as it is now. */
export interface Seen {
  readonly ms: number;
  /** The conditions of the job that are true. */
  readonly conditions: readonly string[];
  /** Null: there is no such pod. */
  readonly pods: Readonly<Record<Role, SeenPod | null>>;
  /** When the trainer of each pod last made a step, in milliseconds since 1970; null: never. */
  readonly steppedMs: Readonly<Record<Role, number | null>>;
}

/** What became of a gang to which something happened. */
export type Fate = 'trains again' | 'trains on' | 'hangs' | 'fails' | 'looks finished' | 'restarts again and again';

export const ROLES = ['master', 'worker'] as const satisfies readonly Role[];
/** A step takes half a second. */
const STEPPING_MS = 5000;
/** A kubelet waits for at most so long before its fifth restart of a container in place. */
export const QUIET_MS = 170_000;
/** What has not come to rest by then does not do so soon. */
export const LONGEST_MS = 420_000;

/** What has become of the gang; null: that is still to come. */
export function fateOf(before: Seen, now: Seen, { quietMs, sinceMs }: { readonly quietMs: number; readonly sinceMs: number }): Fate | null {
  if (now.conditions.includes('Succeeded')) return 'looks finished';
  if (now.conditions.includes('Failed')) return 'fails';
  const steps = ROLES.every((role) => now.ms - (now.steppedMs[role] ?? 0) < STEPPING_MS);
  if (steps && ROLES.every((role) => isAnother(before.pods[role], now.pods[role]))) return 'trains again';
  if (quietMs >= QUIET_MS) return steps ? 'trains on' : 'hangs';
  return sinceMs >= LONGEST_MS ? 'restarts again and again' : null;
}

/** Whether a trainer is another process than before, and lives. */
function isAnother(before: SeenPod | null, now: SeenPod | null): boolean {
  return now !== null && !now.isTerminating && now.phase === 'Running' && (now.uid !== before?.uid || now.restarts !== before.restarts);
}

/** Whether anything but the steps is different. */
export function hasChanged(before: Seen, now: Seen): boolean {
  const told = ({ conditions, pods }: Seen): string => JSON.stringify([conditions, ROLES.map((role) => pods[role])]);
  return told(before) !== told(now);
}

/** What v1 and the kubelet did with a pod, for people. */
export function storyOf(before: SeenPod | null, now: SeenPod | null): string {
  if (now === null) return 'gone';
  const own = now.uid === before?.uid;
  const restarts = now.restarts - (own ? before.restarts : 0);
  const story = [
    ...(own ? [] : ['replaced']),
    ...(restarts > 0 ? [`restarted in place ${restarts === 1 ? 'once' : `${restarts} times`}`] : []),
    ...(now.isTerminating ? ['is terminating'] : []),
    ...(now.phase === 'Running' ? [] : [now.phase]),
  ];
  return story.length === 0 ? 'untouched' : story.join(', ');
}
