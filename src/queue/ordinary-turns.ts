import type { Turn, TurnAnswer } from './backend.ts';
import type { OrdinaryAnswer, OrdinaryTurns } from './store.ts';

/** The time, and the limits of the new leases. */
export type OrdinaryLimits = Pick<OrdinaryTurns, 'now' | 'dueAt' | 'room'>;

/**
 * The turns as one ordinary step, or null if one of them needs more than that: it gives something
 * back, reports an error, a progress or a notice, or several of them name one item.
 */
export function asOrdinary(turns: readonly Turn[], limits: OrdinaryLimits): OrdinaryTurns | null {
  const queue = turns[0]?.queue;
  if (queue === undefined || !turns.every((turn) => turn.queue === queue && isOrdinary(turn))) return null;
  const commits = turns.flatMap(({ session, commits: own }) => own.map((one) => ({ ...one, session: session.id, node: session.node })));
  commits.sort((a, b) => a.item - b.item);
  if (commits.some(({ item }, i) => item === commits[i - 1]?.item)) return null;
  return { ...limits, queue, commits, wants: turns.map(({ session, lease }) => ({ session: session.id, most: lease })) };
}

function isOrdinary({ fails, releases, progress, notice }: Turn): boolean {
  return fails.length === 0 && releases.length === 0 && progress.length === 0 && notice === null;
}

/** The answer to each turn of an ordinary step. */
export function ordinaryAnswers(turns: readonly Turn[], { leases, isPaused, openItems }: OrdinaryAnswer): TurnAnswer[] {
  return turns.map(({ commits }, i) => ({
    commits: commits.map(() => ({ verdict: 'write', standing: null })),
    held: [],
    leases: leases[i] ?? [],
    isDrained: openItems === 0,
    isPaused,
  }));
}
