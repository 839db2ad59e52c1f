import type { InterruptedPeer } from '../../domain/exit-contract.ts';
import { readEnds } from '../../ledger/reader.ts';

/**
 * Another node of this attempt that was told to end, by its ledger; null: none was. Its notice is there before its trainer is told anything, and so before
 * the ranks here can miss theirs.
 */
export function interruptedPeer(run: string, attempt: number, node: string): InterruptedPeer | null {
  for (const { node: other, event } of readEnds(run, (file) => file.attempt === attempt && file.node !== node)) {
    if (event.kind === 'notice' && event.terminating) return { node: other, cause: event.cause };
  }
  return null;
}
