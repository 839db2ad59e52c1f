import { publishDeadline } from '../checkpoint/store/attempt.ts';
import type { Life, LifeOptions } from './life.ts';

interface Leaving extends Pick<LifeOptions, 'store' | 'attempt' | 'book'> {
  readonly life: Pick<Life, 'isDiskSilent'>;
}

/**
 * Whoever replaces this attempt is told until when it may still save; null: it is done. The disk is waited for, unless it is known not to answer: a successor
 * then counts on what was published before, and where nothing was it fences this attempt at once.
 */
export function tellSuccessor({ life, store, attempt, book }: Leaving, deadlineMs: number | null): void {
  if (life.isDiskSilent) return;
  try {
    publishDeadline(store, attempt, deadlineMs);
  } catch (thrown) {
    book.complain(thrown);
  }
}
