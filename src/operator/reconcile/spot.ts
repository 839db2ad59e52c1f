import { choosePlacement, type PlacedAttempt } from '../../domain/gang/placement.ts';
import { currentAttempt, withAttempt } from '../training-run/record.ts';
import { type Draft, type Facts, tell } from './draft.ts';

/** Chooses the machines of the current attempt, once, where the job prefers Spot. */
export function notePlacement(facts: Facts, draft: Draft): Draft {
  const { record } = draft;
  const attempt = currentAttempt(record);
  if (!facts.job.choices.prefersSpot || attempt.placement !== null || attempt.createdAt !== null) return draft;
  if (facts.cloud === null) return attempt.number === 1 && facts.pods.length === 0 ? tellUnknownCloud(draft) : draft;
  const ended: readonly PlacedAttempt[] = record.attempts.flatMap(({ placement, end, detectedAt }) =>
    end === null || detectedAt === null ? [] : [{ placement, cause: end.cause, endedMs: Date.parse(detectedAt) }],
  );
  const progressMs = record.progress.sealedAt === null ? null : Date.parse(record.progress.sealedAt);
  const { placement, reason } = choosePlacement(ended, { progressMs, nowMs: facts.nowMs });
  const placed = { ...draft, record: withAttempt(record, attempt.number, { placement, placementReason: reason }) };
  if (placement === 'spot') return placed;
  return tell(placed, 'Normal', 'PlacedOnDemand', `attempt ${attempt.number} runs on demand, because ${reason}`);
}

function tellUnknownCloud(draft: Draft): Draft {
  const message = 'the nodes do not say which cloud they are of, so Spot machines cannot be asked for: start the operator with --cloud';
  return tell(draft, 'Warning', 'UnknownCloud', message);
}
