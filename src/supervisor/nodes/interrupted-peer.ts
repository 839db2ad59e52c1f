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
const LOOK_MS = 100;

/**
 * Finds another node of this attempt that was interrupted, by its ledger; null: there is none. A
 * node records its notice before it signals its trainer. So the record is there before the ranks
 * here can miss the ranks there. A node whose trainer has finished all the same is returned only if
 * there is no other.
 */
export function interruptedPeer(siblings: Siblings): SeenPeer | null {
  const events = endsOfOthers(siblings);
  let finished: SeenPeer | null = null;
  for (const { node: other, event } of events) {
    if (event.kind !== 'notice' || !event.terminating) continue;
    const ends = events.flatMap((recorded) => (recorded.node === other && recorded.event.kind === 'trainer-ended' ? [recorded.event] : []));
    const saidFinished = ends.some((end) => end.saidFinished);
    const peer = { node: other, cause: event.cause, hasEnded: ends.length > 0, saidFinished };
    if (!saidFinished) return peer;
    finished ??= peer;
  }
  return finished;
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

interface GangBounds {
  readonly nodes: number;
  readonly boundMs: number;
  readonly clock: Clock;
}

/**
 * Finds a node whose trainer has not reported the run as finished, after the trainer here has, and
 * this node has a notice. The others learn of the notice and end their trainers, unless these have
 * finished. Null: all have finished. A node that has not recorded its end within the bound counts
 * as unfinished.
 */
export async function unfinishedNode(siblings: Siblings, { nodes, boundMs, clock }: GangBounds): Promise<string | null> {
  const untilMs = clock.monotonic() + Math.min(boundMs, PATIENCE_MS);
  for (;;) {
    const finished = new Set<string>();
    for (const { node, event } of endsOfOthers(siblings)) {
      if (event.kind !== 'trainer-ended') continue;
      if (!event.saidFinished) return node;
      finished.add(node);
    }
    if (finished.size >= nodes - 1) return null;
    if (clock.monotonic() >= untilMs) return 'another node';
    await clock.sleep(LOOK_MS);
  }
}

function endsOfOthers({ run, attempt, node }: Siblings): ReturnType<typeof readEnds> {
  return readEnds(run, (file) => file.attempt === attempt && file.node !== node);
}
