import type { Book } from './book.ts';

/** The trainer runs: what is begun beside it may fail, loudly, and it trains on. */
export function beside<T>(book: Pick<Book, 'complain'>, begin: () => T): T | null {
  try {
    return begin();
  } catch (thrown) {
    book.complain(thrown);
    return null;
  }
}
