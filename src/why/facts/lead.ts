import type { EndCause } from '../../domain/causes/catalogue.ts';
import type { WhyFacts } from './facts.ts';

/** A cause with evidence for it. */
export interface Lead {
  readonly cause: EndCause;
  /**
   * `certain`: the component that ended the pod reports it. `likely`: no other cause fits the known
   * facts.
   */
  readonly sure: 'certain' | 'likely';
  readonly evidence: string;
}

/** Judges one kind of evidence; empty if it shows nothing. */
export type Rule = (facts: WhyFacts) => readonly Lead[];

/** A lead that is proven. */
export function certain(cause: EndCause, evidence: string): Lead {
  return { cause, sure: 'certain', evidence };
}

/** A lead that other facts may outweigh. */
export function likely(cause: EndCause, evidence: string): Lead {
  return { cause, sure: 'likely', evidence };
}
