import { parseDuration } from '../../core/duration.ts';
import type { RestartMode } from '../../domain/gang/restart-mode.ts';
import { ANNOTATIONS } from './annotations.ts';

/** What the annotations of a job choose. */
export interface Choices {
  /** Null: by the shape of the job. */
  readonly restart: RestartMode | null;
  /** `Running` has v1's meaning: one deciding pod runs. */
  readonly isRunningLikeV1: boolean;
  readonly trustsExitZero: boolean;
  /** Pods on lost nodes go without their kubelet, also where nothing refuses their writes. */
  readonly forcesLostNodes: boolean;
  /** The time in which all pods of an attempt must run; null: none. */
  readonly startDeadlineMs: number | null;
  readonly prefersSpot: boolean;
  /** How long an attempt may wait for Spot machines. */
  readonly spotPatienceMs: number;
  /** Whether the pods run under the supervisor; null: as the operator's own setting says. */
  readonly supervise: boolean | null;
  /** The folder of the run, as the user wrote it; null: a folder on the pod's volume. */
  readonly dir: string | null;
  /** The folder in which the trainer saves by itself, as the user wrote it; null: it does not. */
  readonly watch: string | null;
  /** Where copies of checkpoints go, as the user wrote it; null: nowhere. */
  readonly ship: string | null;
  /** A run that has finished trains on. */
  readonly trainsAgain: boolean;
  /** An attempt that runs for a shorter time is not asked to make room. */
  readonly minRuntimeMs: number;
  /** The pods are scheduled as a gang where Kubernetes itself can. */
  readonly usesNativeGang: boolean;
  /** The operator may suspend the Job to make room. */
  readonly maySuspend: boolean;
}

type Annotations = Readonly<Record<string, string>>;
type Name = keyof typeof ANNOTATIONS;

const SPOT_PATIENCE_MS = 15 * 60_000;

/** Reads the annotations of a job. One with a value that means nothing counts as absent. */
export function choicesOf(annotations: Annotations): Choices {
  const value = (name: Name): string | null => (problemOf(annotations, name) === null ? (annotations[ANNOTATIONS[name]] ?? null) : null);
  const restart = value('restart');
  const supervise = value('supervise');
  return {
    restart: restart === 'gang' || restart === 'replica' ? restart : null,
    isRunningLikeV1: value('running') === 'v1',
    trustsExitZero: value('trustExitZero') === 'true',
    forcesLostNodes: value('forceLostNodes') === 'true',
    startDeadlineMs: durationOf(value('startDeadline')),
    prefersSpot: value('placement') === 'spot',
    spotPatienceMs: durationOf(value('spotPatience')) ?? SPOT_PATIENCE_MS,
    supervise: supervise === null ? null : supervise === 'true',
    dir: value('dir'),
    watch: value('watch'),
    ship: value('ship'),
    trainsAgain: value('again') === 'true',
    minRuntimeMs: durationOf(value('minRuntime')) ?? 0,
    usesNativeGang: value('nativeGang') !== 'false',
    maySuspend: value('maySuspend') === 'true',
  };
}

/** What is wrong with the annotations of a job, each in a sentence. */
export function choiceProblems(annotations: Annotations): readonly string[] {
  return (Object.keys(ANNOTATIONS) as Name[]).flatMap((name) => problemOf(annotations, name) ?? []);
}

/**
 * The values that an annotation may have; `duration`: any duration; `text`: any text. A text that
 * means nothing is not ignored: the pods then run without the supervisor, and an event says so.
 */
const VALUES: Readonly<Record<Name, readonly string[] | 'duration' | 'text'>> = {
  restart: ['gang', 'replica'],
  running: ['v1', 'gang'],
  trustExitZero: ['true', 'false'],
  forceLostNodes: ['true', 'false'],
  startDeadline: 'duration',
  placement: ['spot', 'any'],
  spotPatience: 'duration',
  extendBackoff: ['true', 'false'],
  supervise: ['true', 'false'],
  dir: 'text',
  watch: 'text',
  ship: 'text',
  again: ['true', 'false'],
  minRuntime: 'duration',
  nativeGang: ['true', 'false'],
  maySuspend: ['true', 'false'],
};

function problemOf(annotations: Annotations, name: Name): string | null {
  const annotation = ANNOTATIONS[name];
  const text = annotations[annotation];
  const allowed = VALUES[name];
  if (text === undefined || allowed === 'text') return null;
  if (allowed === 'duration') {
    const parsed = parseDuration(text);
    return parsed.ok ? null : `the annotation ${annotation} is ignored: ${parsed.reason}`;
  }
  if (allowed.includes(text)) return null;
  return `the annotation ${annotation} is ignored: ${JSON.stringify(text.slice(0, 40))} is none of ${allowed.join(', ')}`;
}

function durationOf(text: string | null): number | null {
  const parsed = text === null ? null : parseDuration(text);
  return parsed?.ok === true ? parsed.value : null;
}
