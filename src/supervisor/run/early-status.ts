import type { Clock } from '../../core/clock.ts';
import type { RunLog } from '../base/run-log.ts';
import type { Notices } from '../notices/notices.ts';
import type { RunOptions } from '../settings/run-options.ts';
import type { StatusServer } from '../status/status-server.ts';

/** What the status before the first trainer is made from. */
export interface EarlyWorld {
  readonly options: RunOptions;
  readonly clock: Clock;
  readonly log: RunLog;
  readonly notices: Notices;
}

/**
 * Serves the status of a run that waits for its store before there is a trainer. The port opens at
 * the first wait, and closes before the usual status takes it over.
 */
export class EarlyStatus {
  readonly #world: EarlyWorld;
  #waiting: { readonly sentence: string; readonly sinceMs: number } | null = null;
  #server: Promise<StatusServer | null> | null = null;

  constructor(world: EarlyWorld) {
    this.#world = world;
  }

  /** Notes that the start waits for something. */
  note(sentence: string): void {
    const { options, clock, log } = this.#world;
    this.#waiting = { sentence, sinceMs: this.#waiting?.sinceMs ?? clock.now() };
    if (options.status === null) return;
    this.#server ??= this.#serve().catch((thrown: unknown) => {
      log.complain(thrown);
      return null;
    });
  }

  /** Frees the port. */
  async close(): Promise<void> {
    const server = await this.#server;
    this.#server = null;
    server?.close();
  }

  async #serve(): Promise<StatusServer | null> {
    const { options, clock, log, notices } = this.#world;
    if (options.status === null) return null;
    const [{ serveStatus }, { makeStatus }, { FIRST_TOTALS }, { formatAddress }] = await Promise.all([
      import('../status/status-server.ts'),
      import('../status/status.ts'),
      import('../status/totals.ts'),
      import('../settings/status-address.ts'),
    ]);
    const server = await serveStatus(
      options.status,
      () =>
        makeStatus({
          run: '',
          node: log.node,
          version: options.version,
          nowMs: clock.now(),
          attempt: log.attempt,
          totals: FIRST_TOTALS,
          notices: notices.all,
          deadline: notices.deadline,
          live: null,
          waiting: this.#waiting,
        }),
      clock,
    );
    log.say(`status on http://${formatAddress(server.address)}/status`);
    return server;
  }
}
