import type { Clock } from '../../core/clock.ts';
import type { InterruptedPeer } from '../../domain/exit/exit-contract.ts';
import { readEnds } from '../../ledger/reader.ts';

/** The attempt of which another node may have been interrupted. */
export interface Siblings {
  /** The folder of the run, which the nodes share. */
  readonly run: string;
  readonly attempt: number;
  /** This node. */
  readonly node: string;
}

interface SeenPeer extends InterruptedPeer {
  readonly hasEnded: boolean;
}

/**
 * How long to wait for a node to report its end. The trainers of a gang end together, so a later
 * report says nothing.
 */
const PATIENCE_MS = 60_000;
const LOOK_MS = 250;

/**
 * Finds another node of this attempt that was interrupted, by its ledger; null: there is none. A
 * node records its notice before it signals its trainer. So the record is there before the ranks
 * here can miss the ranks there.
 */
export function interruptedPeer({ run, attempt, node }: Siblings): SeenPeer | null {
  const events = readEnds(run, (file) => file.attempt === attempt && file.node !== node);
  for (const { node: other, event } of events) {
    if (event.kind !== 'notice' || !event.terminating) continue;
    const ends = events.flatMap((recorded) => (recorded.node === other && recorded.event.kind === 'trainer-ended' ? [recorded.event] : []));
    return { node: other, cause: event.cause, hasEnded: ends.length > 0, saidFinished: ends.some(({ saidFinished }) => saidFinished) };
  }
  return null;
}

/**
 * Finds an interrupted node after the trainer here reported the run as finished. Waits until that
 * node has recorded whether its trainer reports the same.
 */
export async function unfinishedPeer(siblings: Siblings, clock: Clock): Promise<InterruptedPeer | null> {
  const untilMs = clock.monotonic() + PATIENCE_MS;
  for (;;) {
    const peer = interruptedPeer(siblings);
    if (peer === null || peer.hasEnded || clock.monotonic() >= untilMs) return peer;
    await clock.sleep(LOOK_MS);
  }
}
