import type { Clock } from '../../core/clock.ts';
import { judgeSeal, type SealVerdict } from '../../domain/overdue-seal.ts';
import type { Book } from '../book.ts';
import { sleeps } from '../hang/watch.ts';
import type { Measurements } from '../measurements.ts';
import type { SaveDesk } from '../save-desk.ts';

interface Sealing {
  readonly desk: Pick<SaveDesk, 'waiting'>;
  readonly measured: Pick<Measurements, 'seal' | 'lastGoodStep'>;
}

export interface OverdueWatch {
  readonly life: Sealing & { readonly desk: Pick<SaveDesk, 'refuseMeanwhile'> };
  readonly clock: Clock;
  readonly book: Pick<Book, 'record' | 'shout'>;
  readonly signal: AbortSignal;
}

/** How soon it is noticed. */
const LOOK_MS = 1000;

/** Whether the disk takes far longer than predicted for what it was given; null when it was given nothing. */
export function judgeOverdue({ desk, measured }: Sealing, clock: Clock): SealVerdict | null {
  const { waiting } = desk;
  if (waiting === null) return null;
  const now = clock.monotonic();
  const { kind, step, sinceMs, movedMs } = waiting;
  return judgeSeal({ kind, step, tookMs: now - sinceMs, quietMs: now - movedMs, predicted: measured.seal });
}

/**
 * Looks whether what was handed over is sealed in a time that can be told, until `signal` is aborted. That it is not is told once for sealing a save and once for what follows, and
 * whoever would wait for it is refused: the trainer goes on, whatever the disk does. Nothing is given up, since the disk may come back.
 */
export async function watchOverdue({ life, clock, book, signal }: OverdueWatch): Promise<void> {
  let told: string | null = null;
  do {
    const { waiting } = life.desk;
    const verdict = judgeOverdue(life, clock);
    if (waiting === null || verdict?.isOverdue !== true) continue;
    const what = `${waiting.kind} ${waiting.save}`;
    if (what === told) continue;
    told = what;
    tell(waiting.save, verdict, { life, book });
  } while (await sleeps(clock, LOOK_MS, signal));
}

function tell(save: string, { step, tookMs, limitMs, sentence }: SealVerdict, { life, book }: Pick<OverdueWatch, 'life' | 'book'>): void {
  const { lastGoodStep, seal } = life.measured;
  const good = lastGoodStep === null ? 'nothing is sealed yet' : `the last good step is ${lastGoodStep}`;
  life.desk.refuseMeanwhile(`${sentence}: no save is begun before the disk answers`);
  const predicted = seal === null ? null : { medianMs: seal.medianMs, p95Ms: seal.p95Ms };
  book.record({ kind: 'save-overdue', save, step, tookMs, limitMs, predicted, sentence });
  book.shout(`warning: ${sentence}; the disk may not answer any more. No save is begun before it does; ${good}`);
}
