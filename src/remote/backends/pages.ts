import { RequestFailure } from '../transfer/failure.ts';

/**
 * The token of the next page; null after the last. A store that names the same page again would
 * keep the client busy for ever.
 */
export function nextPage(used: string | null, next: string | null): string | null {
  if (next === null || next !== used) return next;
  throw new RequestFailure({
    message: 'the store returned the same page of its list again',
    reason: 'SAME_PAGE',
    status: 200,
    isTransient: false,
  });
}
