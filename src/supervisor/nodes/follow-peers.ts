import type { Clock } from '../../core/clock.ts';
import type { InterruptedPeer } from '../../domain/exit/exit-contract.ts';
import { interruptedPeer, type Siblings } from './interrupted-peer.ts';

/** How often a node looks for the interruption of another. */
const LOOK_MS = 1000;

interface FollowOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /**
   * False while the disk must not be read, or an interruption elsewhere would change nothing here.
   */
  readonly isWanted: () => boolean;
}

/**
 * Resolves with the first other node whose ledger in the shared folder records an interruption.
 * Rejects when `signal` is aborted.
 */
export async function nextInterruptedPeer(siblings: Siblings, { clock, signal, isWanted }: FollowOptions): Promise<InterruptedPeer> {
  for (;;) {
    await clock.sleep(LOOK_MS, { signal });
    const peer = isWanted() ? interruptedPeer(siblings) : null;
    // What comes after the end of a finished trainer concerns no other node.
    if (peer !== null && !peer.saidFinished) return peer;
  }
}
