import type { LedgerEvent } from '../../ledger/events.ts';

/** A sealed save, as the status shows the newest one. */
export interface LastSave {
  readonly step: number;
  readonly bytes: number | null;
  readonly totalMs: number;
  readonly writeMs: number | null;
  readonly stallMs: number | null;
}

/** The counts of this process since it started, over all its attempts. */
export interface Totals {
  readonly attempts: number;
  readonly saves: Readonly<Record<string, number>>;
  readonly notices: Readonly<Record<string, number>>;
  readonly hangs: number;
  readonly sealedBytes: number;
  readonly sealedMs: number;
  readonly writeMs: number;
  readonly stallMs: number;
  readonly lastSave: LastSave | null;
  /** The last loss that the trainer reported; null: none. */
  readonly loss: number | null;
}

/** The totals at the start, when the first attempt has just begun. */
export const FIRST_TOTALS: Totals = {
  attempts: 1,
  saves: { sealed: 0, failed: 0, abandoned: 0, lost: 0 },
  notices: {},
  hangs: 0,
  sealedBytes: 0,
  sealedMs: 0,
  writeMs: 0,
  stallMs: 0,
  lastSave: null,
  loss: null,
};

/** The totals after one more event of the ledger. */
export function countEvent(totals: Totals, event: LedgerEvent): Totals {
  switch (event.kind) {
    case 'attempt-started':
      return { ...totals, attempts: totals.attempts + 1 };
    case 'notice':
      return { ...totals, notices: oneMore(totals.notices, event.cause) };
    case 'progress':
      return event.loss === null ? totals : { ...totals, loss: event.loss };
    case 'hang':
      return { ...totals, hangs: totals.hangs + 1 };
    case 'save-ended': {
      const saves = oneMore(totals.saves, event.outcome);
      if (event.outcome !== 'sealed') return { ...totals, saves };
      const { step, bytes, totalMs, writeMs, stallMs } = event;
      return {
        ...totals,
        saves,
        sealedBytes: totals.sealedBytes + (bytes ?? 0),
        sealedMs: totals.sealedMs + totalMs,
        writeMs: totals.writeMs + (writeMs ?? 0),
        stallMs: totals.stallMs + (stallMs ?? 0),
        lastSave: { step, bytes, totalMs, writeMs, stallMs },
      };
    }
    default:
      return totals;
  }
}

function oneMore(counts: Readonly<Record<string, number>>, name: string): Readonly<Record<string, number>> {
  return { ...counts, [name]: (counts[name] ?? 0) + 1 };
}
