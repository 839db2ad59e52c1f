import { RequestFailure } from './failure.ts';

/** What leads to the next page of a list; null after the last. A store that leads back to the page it has just told would be asked for ever. */
export function nextPage(used: string | null, next: string | null): string | null {
  if (next === null || next !== used) return next;
  throw new RequestFailure({
    message: 'the store tells the same page of its list again',
    reason: 'SAME_PAGE',
    status: 200,
    isTransient: false,
  });
}
