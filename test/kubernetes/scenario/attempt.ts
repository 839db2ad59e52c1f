import { existsSync } from 'node:fs';
import type { EventKind, EventOf } from '../../../src/ledger/events.ts';
import { readLedger } from '../../../src/ledger/reader.ts';

/** The ledger's records of one attempt; null for a record that does not exist. */
export interface Attempt {
  readonly attempt: number;
  readonly notice: EventOf<'notice'> | null;
  /** When the supervisor expected to be killed, by its last estimate. */
  readonly deadline: EventOf<'deadline'> | null;
  readonly decision: EventOf<'decision'> | null;
  readonly flush: EventOf<'flush-ended'> | null;
  readonly trainer: EventOf<'trainer-ended'> | null;
  readonly end: EventOf<'attempt-ended'> | null;
}

/**
 * The first and the last attempt of a run. The first is the interrupted one; both may be the same.
 * Null when there is no run.
 */
export function attemptsIn(run: string): { readonly first: Attempt; readonly last: Attempt } | null {
  if (!existsSync(run)) return null;
  const { events } = readLedger(run);
  const numbers = events.map(({ attempt }) => attempt);
  return { first: attemptOf(events, Math.min(...numbers)), last: attemptOf(events, Math.max(...numbers)) };
}

function attemptOf(events: ReturnType<typeof readLedger>['events'], attempt: number): Attempt {
  const own = events.filter((recorded) => recorded.attempt === attempt).map(({ event }) => event);
  const last = <Kind extends EventKind>(kind: Kind): EventOf<Kind> | null =>
    own.findLast((event): event is EventOf<Kind> => event.kind === kind) ?? null;
  return {
    attempt,
    notice: last('notice'),
    deadline: last('deadline'),
    decision: last('decision'),
    flush: last('flush-ended'),
    trainer: last('trainer-ended'),
    end: last('attempt-ended'),
  };
}
