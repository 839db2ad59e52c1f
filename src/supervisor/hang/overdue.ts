import type { Clock } from '../../core/clock.ts';
import type { SealVerdict } from '../../domain/hang/overdue-seal.ts';
import type { RunLog } from '../base/run-log.ts';
import { sleeps } from './watch-progress.ts';
import { judgeOverdue, type Sealing } from '../session/judge-overdue.ts';
import type { SaveCoordinator } from '../saves/save-coordinator.ts';

/** What the watch over an overdue seal looks at, and where it reports. */
export interface OverdueWatch {
  readonly session: Sealing & { readonly coordinator: Pick<SaveCoordinator, 'refuseMeanwhile'> };
  readonly clock: Clock;
  readonly log: Pick<RunLog, 'record' | 'shout'>;
  readonly signal: AbortSignal;
}

/** How often the watch looks. */
const LOOK_MS = 1000;

/**
 * Watches whether saves are sealed within their predicted time, until `signal` is aborted. The
 * supervisor reports an overdue seal once, and an overdue cleanup after it once. It then refuses
 * requests that would wait for the disk, so that the trainer trains on. It abandons nothing, since
 * the disk may come back.
 */
export async function watchOverdue({ session, clock, log, signal }: OverdueWatch): Promise<void> {
  let told: string | null = null;
  do {
    const { waiting } = session.coordinator;
    const verdict = judgeOverdue(session, clock);
    if (waiting === null || verdict?.isOverdue !== true) continue;
    const what = `${waiting.kind} ${waiting.save}`;
    if (what === told) continue;
    told = what;
    tell(waiting.save, verdict, { session, log });
  } while (await sleeps(clock, LOOK_MS, signal));
}

function tell(
  save: string,
  { step, tookMs, limitMs, sentence }: SealVerdict,
  { session, log }: Pick<OverdueWatch, 'session' | 'log'>,
): void {
  const { lastGoodStep, seal } = session.measured;
  const good = lastGoodStep === null ? 'nothing is sealed yet' : `the last good step is ${lastGoodStep}`;
  session.coordinator.refuseMeanwhile(`${sentence}: no save starts before the disk responds`);
  const predicted = seal === null ? null : { medianMs: seal.medianMs, p95Ms: seal.p95Ms };
  log.record({ kind: 'save-overdue', save, step, tookMs, limitMs, predicted, sentence });
  log.shout(`warning: ${sentence}; the disk may have stopped responding. No save starts before it responds; ${good}`);
}
