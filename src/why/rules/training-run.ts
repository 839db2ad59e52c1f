import { END_CAUSES } from '../../domain/causes/catalogue.ts';
import type { RecordedAttempt } from '../facts/run-records.ts';
import { certain, type Lead, likely, type Rule } from '../facts/lead.ts';

/** The end of the attempt as the operator recorded it, before it deleted the pods. */
export const trainingRun: Rule = ({ recorded, pod }) => {
  if (recorded === null || recorded.end === null) return [];
  const { cause, pod: victim } = recorded.end;
  if (pod === null || victim === null || victim === pod.object.name) return byRecord(recorded, pod !== null);
  // The operator stops the pods that are left. One that was not deleted ended by itself.
  if (pod.object.deletionMs === null) return [];
  return [certain('GANG_STOPPED', `${whereIn(recorded)} ended because pod ${victim} was lost (${cause})`)];
};

function byRecord(recorded: RecordedAttempt, hasPod: boolean): readonly Lead[] {
  const cause = recorded.end?.cause ?? 'CANNOT_TELL';
  if (cause === 'CANNOT_TELL') return [];
  // A pod that is there shows by itself whether it finished.
  if (hasPod && END_CAUSES[cause].family === 'none') return [];
  const evidence = `${whereIn(recorded)} records it`;
  // The operator writes down this one too for a pod that vanished unseen.
  return [cause === 'POD_DELETED' ? likely(cause, evidence) : certain(cause, evidence)];
}

function whereIn({ run, attempt }: RecordedAttempt): string {
  return `attempt ${attempt.number} of the TrainingRun ${run.object.name}`;
}
