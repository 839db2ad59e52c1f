import { addNotice, type Notice, withdrawNotice } from '../domain/notice.ts';
import type { Life } from './life.ts';

/**
 * Advice that came when nobody was there who could save. The save is asked for when a trainer has begun, unless the advice was taken back: whoever
 * gives it (a metadata service, an annotation) gives it once.
 */
export class Unheard {
  #all: readonly Notice[] = [];

  add(notice: Notice): void {
    this.#all = addNotice(this.#all, notice);
  }

  withdraw(notice: Notice): void {
    this.#all = withdrawNotice(this.#all, notice);
  }

  /** Tells a life what none before it has heard, after its first step: before that there is nothing to save, and ranks may be missing. */
  async tell(life: Pick<Life, 'begun' | 'ask'>): Promise<void> {
    await life.begun;
    if (this.#all.length > 0 && life.ask('asked')) this.#all = [];
  }
}
