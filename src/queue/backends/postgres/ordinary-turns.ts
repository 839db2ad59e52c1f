import { type RawRow, toLease } from '../../rows.ts';
import type { OrdinaryAnswer, OrdinaryTurns } from '../../store.ts';

/** The parameters of `take_turns`, for the server that counts in the row `slot`. */
export function turnValues({ queue, now, dueAt, room, commits, wants }: OrdinaryTurns, slot: number): unknown[] {
  return [
    queue,
    now,
    dueAt,
    slot,
    room,
    commits.map(({ item }) => item),
    commits.map(({ token }) => token),
    commits.map(({ generation }) => generation),
    commits.map(({ result }) => result),
    commits.map(({ session }) => session),
    commits.map(({ node }) => node),
    wants.flatMap(({ most }, i) => Array.from({ length: most }, () => i + 1)),
    wants.map(({ session }) => session),
  ];
}

/** Reads the rows of `take_turns`: the leases by turn, and the state of the queue. */
export function turnAnswer({ wants }: OrdinaryTurns, rows: readonly RawRow[]): OrdinaryAnswer {
  const queue = rows.find(({ id }) => id === null);
  const byPlace = new Map(rows.filter(({ id }) => id !== null).map((row) => [Number(row['place']), toLease(row, String(row['value']))]));
  let place = 0;
  const leases = wants.map(({ most }) => Array.from({ length: most }, () => byPlace.get(++place)).filter((one) => one !== undefined));
  const open = queue?.['open'] ?? null;
  return { leases, isPaused: Boolean(queue?.['paused']), openItems: open === null ? null : Number(open) };
}
