import { END_CAUSES } from '../domain/causes/catalogue.ts';
import type { Lane } from '../ledger/timeline.ts';
import type { Recorded } from '../ledger/events.ts';
import type { ClusterState } from '../kube/objects/cluster-state.ts';
import { type KubeObject, titleOf } from '../kube/objects/object.ts';
import type { Pod } from '../kube/objects/pod.ts';
import { type Answer, answerOf } from './answer.ts';
import { factsOfLane, factsOfPod, factsOfRecord } from './facts/facts.ts';
import { type RecordedAttempt, runRecordsOf } from './facts/run-records.ts';

/** The ledger of the run in question. */
export interface RunLedger {
  readonly lanes: readonly Lane[];
  readonly events: readonly Recorded[];
}

/** The value when no ledger is given. */
export const NO_LEDGER: RunLedger = { lanes: [], events: [] };

/** The pods of an object: itself, or those it created, directly or through Jobs. */
export function podsUnder(object: KubeObject, state: ClusterState): readonly Pod[] {
  if (object.kind === 'Pod') return state.pods.filter((pod) => pod.object === object);
  const own = state.podsOf(object);
  const made = state.objects.filter(
    ({ kind, namespace, owners }) =>
      kind !== 'Pod' &&
      namespace === object.namespace &&
      owners.some(({ kind: ownerKind, name }) => ownerKind === object.kind && name === object.name),
  );
  return [...own, ...made.flatMap((child) => state.podsOf(child))];
}

/**
 * The answers about pods, and about recorded attempts whose pods are gone. The most important one
 * comes first: the newest end that the trainer did not plan.
 */
export function answersOf(
  pods: readonly Pod[],
  state: ClusterState,
  { ledger, attempts }: { readonly ledger: RunLedger; readonly attempts: readonly RecordedAttempt[] },
): readonly Answer[] {
  const records = { ...ledger, runs: runRecordsOf(state.objects) };
  const facts = pods.map((pod) => factsOfPod(pod, state, records));
  // The lost pod of an attempt, if it is still there, knows more than the record.
  const told = new Set(facts.flatMap(({ recorded, pod }) => (recorded?.end?.pod === pod?.object.name ? idOf(recorded) : [])));
  const gone = attempts.filter((attempt) => idOf(attempt).every((id) => !told.has(id)));
  const answers = [...facts, ...gone.map((attempt) => factsOfRecord(attempt, state))].map(answerOf);
  return answers.toSorted((a, b) => weightOf(b) - weightOf(a) || (b.atMs ?? 0) - (a.atMs ?? 0));
}

/** A name for an attempt; none for no attempt. */
function idOf(recorded: RecordedAttempt | null): readonly string[] {
  return recorded === null ? [] : [`${titleOf(recorded.run.object)} ${recorded.attempt.number}`];
}

/** The answers about the attempts of a run without its pods, newest first. */
export function answersOfRun({ lanes, events }: RunLedger): readonly Answer[] {
  return lanes.map((lane) => answerOf(factsOfLane(lane, events))).toReversed();
}

/** Whether the answer is about an end at all. */
export function isEnd({ judgement }: Answer): boolean {
  return judgement.cause !== 'FINISHED' && judgement.cause !== 'STILL_RUNNING';
}

function weightOf({ judgement, isUnfinished }: Answer): number {
  if (isUnfinished) return 4;
  const { family } = END_CAUSES[judgement.cause];
  // The end of the lost pod comes before those of its gang.
  if (judgement.cause === 'GANG_STOPPED') return 1;
  return family === 'none' ? (judgement.cause === 'CANNOT_TELL' ? 2 : 0) : 3;
}
