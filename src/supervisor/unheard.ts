import { addNotice, type Notice, withdrawNotice } from '../domain/notice.ts';
import type { Life } from './life.ts';

/**
 * Advice that came when nobody was there who could save: before the first life, between two, or while a launcher starts its workers again. The save is asked
 * for when workers have begun, unless the advice was taken back: whoever gives it (a metadata service, an annotation) gives it once.
 */
export class Unheard {
  #all: readonly Notice[] = [];

  add(notice: Notice): void {
    this.#all = addNotice(this.#all, notice);
  }

  withdraw(notice: Notice): void {
    this.#all = withdrawNotice(this.#all, notice);
  }

  /** Tells workers what none before them have heard, once they have made a step: before that there is nothing to save, and ranks may be missing. */
  tell(life: Pick<Life, 'ask'>): void {
    if (this.#all.length > 0 && life.ask('asked')) this.#all = [];
  }
}
