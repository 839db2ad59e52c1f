import { NO_SAVES, observeSave, type Prediction, predictSave } from '../domain/grace/prediction.ts';
import type { EventOf, Recorded } from './events.ts';

/**
 * Predicts how long the next save of a run takes from its start to its seal, from the saves in its
 * ledger; null: there are none.
 */
export function saveNeedOf(events: readonly Recorded[]): Prediction | null {
  const sealed = new Map<string, EventOf<'save-ended'>>();
  for (const { event } of events) {
    // Every node records a save, and one record is enough.
    if (event.kind === 'save-ended' && event.outcome === 'sealed') sealed.set(`${event.step}/${event.save}`, event);
  }
  const saves = [...sealed.values()].map(({ bytes, totalMs }) => ({ bytes: bytes ?? 0, ms: totalMs }));
  const last = saves.at(-1);
  return last === undefined ? null : predictSave(saves.reduce(observeSave, NO_SAVES), last.bytes);
}
