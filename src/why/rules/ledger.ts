import type { EndCause } from '../../domain/causes/catalogue.ts';
import { causeOfNotice } from '../../domain/causes/noticed.ts';
import { isCause } from '../../domain/grace/notice.ts';
import type { EventOf } from '../../ledger/events.ts';
import type { WhyFacts } from '../facts/facts.ts';
import { type Lead, type Rule, certain, likely } from '../facts/lead.ts';

/** The evidence that the supervisor wrote into the ledger and the termination message. */
export const supervisor: Rule = (facts) => [...noticeLeads(facts), ...hangLeads(facts), ...endLeads(facts)];

function noticeLeads(facts: WhyFacts): readonly Lead[] {
  const told = facts.message?.cause ?? null;
  const heard = [...noticesOf(facts).map(({ cause }) => cause), ...(told !== null && isCause(told) ? [told] : [])];
  const noticed = heard.flatMap((cause) => causeOfNotice(cause) ?? [])[0];
  return noticed === undefined ? [] : [certain(noticed, `the supervisor received its notice (${[...new Set(heard)].join(', ')})`)];
}

function hangLeads(facts: WhyFacts): readonly Lead[] {
  const end = endOf(facts)?.end ?? null;
  const hung = facts.lane?.events.some(({ event }) => event.kind === 'hang') === true;
  return hung && end !== 'interrupted' && end !== 'finished'
    ? [certain('TRAINER_HUNG', 'the ledger records that no step finished for too long')]
    : [];
}

/** The notices that end an attempt, oldest first. */
export function noticesOf({ lane }: Pick<WhyFacts, 'lane'>): readonly EventOf<'notice'>[] {
  const events = lane?.events ?? [];
  return events.flatMap(({ event }) => (event.kind === 'notice' && event.terminating ? [event] : []));
}

interface End {
  readonly end: string | null;
  readonly sentence: string;
  readonly where: string;
}

/**
 * The end as the supervisor reported it: in the pod’s termination message, or else in the ledger.
 */
function endOf({ message, lane }: WhyFacts): End | null {
  if (message !== null && message.end !== null) return { end: message.end, sentence: message.sentence, where: 'the termination message' };
  return lane === null || lane.end === null ? null : { end: lane.end.end, sentence: lane.end.sentence, where: 'the ledger' };
}

const TOLD: ReadonlyMap<string, EndCause> = new Map([
  ['refused', 'SUPERVISOR_REFUSED'],
  ['failed', 'TRAINER_FAILED'],
]);

function endLeads(facts: WhyFacts): readonly Lead[] {
  const { lane, pod } = facts;
  const told = endOf(facts);
  const cause = TOLD.get(told?.end ?? '');
  if (told !== null && cause !== undefined) return [certain(cause, `${told.where} reports: ${told.sentence}`)];
  // Without a pod there is no other evidence. An attempt with a successor is over.
  const isOpen = told === null && lane !== null && pod === null && !lane.isFollowed;
  return isOpen ? [likely('STILL_RUNNING', 'the ledger has no end of the attempt')] : [];
}
