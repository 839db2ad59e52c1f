import type { Refusal } from '../filter/verdict.ts';
import type { ReleaseRules } from '../objects/release.ts';
import { nowhereMessage } from '../place/nowhere-message.ts';
import type { Placement } from '../place/place.ts';
import type { Candidate } from './victims.ts';

/** The scheduler’s words when a preemption would help on no node. */
export function noPreemptionMessage(refusals: readonly (Refusal | null)[]): string {
  return `preemption: ${nowhereMessage(refusals)}`;
}

/** The scheduler’s words when a preemption succeeds; older releases have none. */
export function preemptionMessage({ saysPotentialPlacement }: ReleaseRules, { node, victims }: Candidate): string {
  if (!saysPotentialPlacement) return '';
  return `preemption: found a potential placement for pod on node ${node}, preempting ${victims.length} victims`;
}

/** The words of a failed preemption as the event has them, after those of the plugin of claims. */
export function failedPreemptionWords({ saysNoClaims }: ReleaseRules, message: string): string {
  return saysNoClaims ? `no new claims to deallocate, ${message}` : message;
}

/**
 * The text of the FailedScheduling event and of the condition PodScheduled; null if the pod fits.
 */
export function failedSchedulingMessage({ message }: Placement, preemption: { readonly message: string } | null): string | null {
  if (message === null) return null;
  const more = preemption?.message ?? '';
  return more === '' ? message : `${message} ${more}`;
}
