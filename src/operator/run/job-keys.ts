import { type ObjectKey, keyFromText, keyText } from '../../kube/api/api-object.ts';
import { JOBS } from '../../kube/api/resources.ts';
import type { JobKind } from '../kinds/kind.ts';
import { kindNamed } from '../kinds/table.ts';
import { TRAINING_RUNS } from '../training-run/training-run.ts';

/**
 * What a turn of the work queue is about: a job, the TrainingRun of a job, a Job to observe, or all
 * pods that ask for room.
 */
export type Turn = { readonly kind: JobKind | 'run' | 'observed'; readonly key: ObjectKey } | { readonly kind: 'room' };

/** The key in the work queue of the pods that ask for room. */
export const ROOM_TURN = 'room';

/** The key of a job in the work queue: `PyTorchJob ml/train`. */
export function jobTurn(kind: JobKind, key: ObjectKey): string {
  return `${kind.resource.kind} ${keyText(key)}`;
}

/** The key of a TrainingRun in the work queue. */
export function runTurn(key: ObjectKey): string {
  return `${TRAINING_RUNS.kind} ${keyText(key)}`;
}

/** The key of a Job of Kubernetes in the work queue. */
export function observedTurn(key: ObjectKey): string {
  return `${JOBS.kind} ${keyText(key)}`;
}

/** What {@link jobTurn}, {@link runTurn} or {@link observedTurn} wrote. */
export function parseTurn(turn: string): Turn {
  if (turn === ROOM_TURN) return { kind: 'room' };
  const space = turn.indexOf(' ');
  const key = keyFromText(turn.slice(space + 1));
  const name = turn.slice(0, space);
  return { kind: kindNamed(name) ?? (name === JOBS.kind ? 'observed' : 'run'), key };
}
