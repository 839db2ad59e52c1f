import { addNotice, type Notice, withdrawNotice } from '../../domain/grace/notice.ts';
import type { TrainerSession } from '../session/trainer-session.ts';

/**
 * Keeps advice that came while no rank could save: before the first trainer, between two, or while
 * a launcher restarts its workers. Its source (a metadata service, an annotation) gives advice only
 * once. So the supervisor asks for the save when workers have started, unless the advice was
 * withdrawn.
 */
export class PendingAdvice {
  #all: readonly Notice[] = [];

  add(notice: Notice): void {
    this.#all = addNotice(this.#all, notice);
  }

  withdraw(notice: Notice): void {
    this.#all = withdrawNotice(this.#all, notice);
  }

  /**
   * Asks workers for the pending save, once they have made a step. Before that there is nothing to
   * save, and ranks may be missing.
   */
  tell(session: Pick<TrainerSession, 'ask'>): void {
    if (this.#all.length > 0 && session.ask('asked')) this.#all = [];
  }
}
