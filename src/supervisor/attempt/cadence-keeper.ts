import type { Clock } from '../../core/clock.ts';
import { type Cadence, type CadencePlan, firstSaveMs, planCadence } from '../../domain/cadence/cadence.ts';
import type { RunLog } from '../base/run-log.ts';
import type { TrainerSession } from '../session/trainer-session.ts';

/**
 * The longest pause before another try while no rank trains or no progress was made since the last
 * save.
 */
const AGAIN_MS = 1000;

/**
 * Asks for a save whenever one is due, until `signal` is aborted. The SDK itself keeps a cadence in
 * steps, because it counts them.
 */
export async function keepCadence(
  session: TrainerSession,
  { cadence, clock, log, signal }: { cadence: Cadence; clock: Clock; log: RunLog; signal: AbortSignal },
): Promise<void> {
  let plan: CadencePlan | null = null;
  // A run with a checkpoint to resume from keeps its normal interval.
  let isFirst = session.measured.lastGoodStep === null;
  while (!signal.aborted) {
    const next = planCadence(cadence, session.measured.forCadence(clock.monotonic()), plan);
    if (next.sentence !== plan?.sentence) tell(log, next);
    plan = next;
    if (cadence.kind === 'steps') return;
    const dueMs = isFirst && cadence.kind === 'auto' ? await untilFirst(session, clock, signal) : plan.everyMs;
    isFirst = false;
    if (!(await sleeps(clock, dueMs, signal))) return;
    while (session.coordinator.phase !== 'idle' || !session.measured.hasProgress || !session.ask('cadence')) {
      if (!(await sleeps(clock, Math.min(AGAIN_MS, plan.everyMs), signal))) return;
    }
    await session.nextSave();
  }
}

/**
 * Returns the wait for the first save of a run. It starts at the trainer's first step, because a
 * trainer may compile or load before.
 */
async function untilFirst({ measured }: TrainerSession, clock: Clock, signal: AbortSignal): Promise<number> {
  while (measured.step === null && (await sleeps(clock, AGAIN_MS, signal)));
  return firstSaveMs(measured.forCadence(clock.monotonic()).save?.stall ?? null);
}

/** Returns false when the sleep was aborted. */
async function sleeps(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await clock.sleep(ms, { signal });
    return true;
  } catch {
    return false;
  }
}

function tell(log: RunLog, { everyMs, everySteps, overhead, sentence }: CadencePlan): void {
  log.record({ kind: 'cadence-planned', everyMs: Number.isFinite(everyMs) ? everyMs : null, everySteps, overhead, sentence });
  log.say(`saves ${sentence}`);
}
