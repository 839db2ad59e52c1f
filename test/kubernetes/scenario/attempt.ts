import { existsSync } from 'node:fs';
import type { EventKind, EventOf } from '../../../src/ledger/events.ts';
import { readLedger } from '../../../src/ledger/reader.ts';

/** What the ledger of a run says of one attempt; null for what it does not say. */
export interface Attempt {
  readonly attempt: number;
  readonly notice: EventOf<'notice'> | null;
  /** When it would be killed, as it believed in the end. */
  readonly deadline: EventOf<'deadline'> | null;
  readonly decision: EventOf<'decision'> | null;
  readonly flush: EventOf<'flush-ended'> | null;
  readonly trainer: EventOf<'trainer-ended'> | null;
  readonly end: EventOf<'attempt-ended'> | null;
}

/** The first attempt of a run, which is the one that was interrupted, and the last, which may be the same; null where there is no run. */
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
