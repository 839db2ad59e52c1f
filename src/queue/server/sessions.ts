import type { ServerResponse } from 'node:http';
import type { Clock } from '../../core/clock.ts';
import type { LeaseTimes } from '../../domain/queue/lease-times.ts';
import type { QueueBackend, Session, Sweep } from '../backend.ts';

const PING_MS = 5000;

/** The parts that the sessions act on. */
export interface SessionsOptions {
  readonly backend: QueueBackend;
  readonly clock: Clock;
  readonly times: LeaseTimes;
  /** Called when a worker did not reconnect and its items are free. */
  readonly onLost: (session: string, sweep: Sweep) => void;
  readonly onError: (error: unknown) => void;
}

/**
 * The open connections of workers. One that drops and does not reconnect gives its leases back
 * after seconds.
 */
export class Sessions {
  readonly #options: SessionsOptions;
  readonly #open = new Set<ServerResponse>();
  readonly #closing = new AbortController();

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#open.size;
  }

  /** Keeps the answer open as long as the worker lives. */
  async hold(session: Session, response: ServerResponse): Promise<void> {
    const { backend, times } = this.#options;
    const connection = await backend.connected(session);
    response.writeHead(200, { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' });
    response.write(`${JSON.stringify({ connection, ...times })}\n`);
    this.#open.add(response);
    const gone = new AbortController();
    response.on('close', () => {
      this.#open.delete(response);
      gone.abort();
      void this.#dropped(session.id, connection);
    });
    if (response.destroyed) response.emit('close');
    void this.#ping(response, gone.signal);
  }

  /** The server stops: workers will reconnect, so no lease is given back. */
  close(): void {
    this.#closing.abort();
    for (const response of this.#open) response.destroy();
  }

  async #ping(response: ServerResponse, signal: AbortSignal): Promise<void> {
    try {
      for (;;) {
        await this.#options.clock.sleep(PING_MS, { signal });
        response.write('{}\n');
      }
    } catch {
      // The connection is closed.
    }
  }

  async #dropped(session: string, connection: number): Promise<void> {
    const { backend, clock, times, onLost, onError } = this.#options;
    try {
      await clock.sleep(times.reconnectMs, { signal: this.#closing.signal });
    } catch {
      return;
    }
    try {
      onLost(session, await backend.disconnected(session, connection, times.reconnectMs));
    } catch (error) {
      // The lease then expires by itself.
      onError(error);
    }
  }
}
