import type { Clock } from '../core/clock.ts';
import { type Cadence, type CadencePlan, planCadence } from '../domain/cadence.ts';
import type { Book } from './book.ts';
import type { Life } from './life.ts';

/** While nobody trains, or nothing was done since the last save, look again at the latest after this. */
const AGAIN_MS = 1000;

/** Asks for a save whenever one is due, until `signal` is aborted. A cadence in steps is kept by the SDK itself, which counts them. */
export async function keepCadence(
  life: Life,
  { cadence, clock, book, signal }: { cadence: Cadence; clock: Clock; book: Book; signal: AbortSignal },
): Promise<void> {
  let plan: CadencePlan | null = null;
  while (!signal.aborted) {
    const next = planCadence(cadence, life.measured.forCadence(clock.monotonic()), plan);
    if (next.sentence !== plan?.sentence) tell(book, next);
    plan = next;
    if (cadence.kind === 'steps') return;
    if (!(await sleeps(clock, plan.everyMs, signal))) return;
    while (life.desk.phase !== 'idle' || !life.measured.hasProgress || !life.ask('cadence')) {
      if (!(await sleeps(clock, Math.min(AGAIN_MS, plan.everyMs), signal))) return;
    }
    await life.nextSave();
  }
}

/** False when the time was cut short. */
async function sleeps(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await clock.sleep(ms, { signal });
    return true;
  } catch {
    return false;
  }
}

function tell(book: Book, { everyMs, everySteps, overhead, sentence }: CadencePlan): void {
  book.record({ kind: 'cadence-planned', everyMs: Number.isFinite(everyMs) ? everyMs : null, everySteps, overhead, sentence });
  book.say(`saves ${sentence}`);
}
