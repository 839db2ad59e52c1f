import type { Clock } from '../../core/clock.ts';
import { judgeSeal, type SealVerdict } from '../../domain/hang/overdue-seal.ts';
import type { SaveCoordinator } from '../saves/save-coordinator.ts';
import type { Measurements } from './measurements.ts';

/** The parts of a session that know about the save that waits for its seal. */
export interface Sealing {
  readonly coordinator: Pick<SaveCoordinator, 'waiting'>;
  readonly measured: Pick<Measurements, 'seal' | 'lastGoodStep'>;
}

/**
 * Judges whether the disk takes far longer than predicted to seal a save; null when no save waits
 * for it.
 */
export function judgeOverdue({ coordinator, measured }: Sealing, clock: Clock): SealVerdict | null {
  const { waiting } = coordinator;
  if (waiting === null) return null;
  const now = clock.monotonic();
  const { kind, step, sinceMs, movedMs } = waiting;
  return judgeSeal({ kind, step, tookMs: now - sinceMs, quietMs: now - movedMs, predicted: measured.seal });
}
