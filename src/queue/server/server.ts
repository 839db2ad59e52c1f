import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../../core/clock.ts';
import { descriptorLimit } from '../../core/descriptor-limit.ts';
import { HoldfastError, systemCode, toError } from '../../core/errors.ts';
import { limitConnections } from '../../core/limit-connections.ts';
import type { PodEnd } from '../../domain/queue/pod-end.ts';
import { BEAT_MS, leaseTimes } from '../../domain/queue/lease-times.ts';
import type { LeaseRef, QueueBackend, Renewal, Sweep } from '../backend.ts';
import type { Access } from './access.ts';
import { Batcher } from './batcher.ts';
import { answerRequest } from './routes.ts';
import type { SizeLimits } from './read-turn.ts';
import { RequestError, sendError } from './request-error.ts';
import { Sessions } from './sessions.ts';
import { TurnDesk } from './turn-desk.ts';
import { Waiters } from './waiters.ts';
import { WeatherStation } from './weather-station.ts';

/** The settings of a server. */
export interface ServerOptions {
  readonly backend: QueueBackend;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly access: Access;
  readonly limits: SizeLimits;
  readonly leaseMs: number;
  readonly maxConnections: number;
  readonly clock: Clock;
  /** Called once for each trouble that needs a person. */
  readonly say: (text: string) => void;
}

/** Other servers of the same database do not wake the waiters here, so these poll. */
const ASK_EVERY_BEATS = 2;
const MOST_RENEWALS = 256;
const HEADERS_MS = 15_000;
/** The most descriptors of the process that are connections. */
const CONNECTIONS_SHARE = 0.75;

/** A server of queues: HTTP in front of a backend, and the timer that checks leases. */
export class QueueServer implements AsyncDisposable {
  readonly #options: ServerOptions;
  readonly #server: Server;
  readonly #sessions: Sessions;
  readonly #waiters: Waiters;
  readonly #weather = new WeatherStation();
  readonly #stopping = new AbortController();
  readonly #figures = { requests: 0, errors: 0 };
  #beating: Promise<void> = Promise.resolve();
  #trouble = '';

  private constructor(options: ServerOptions) {
    this.#options = options;
    const { backend, clock } = options;
    const times = leaseTimes(options.leaseMs);
    this.#waiters = new Waiters(clock);
    this.#sessions = new Sessions({
      backend,
      clock,
      times,
      onLost: (session, sweep) => this.#lost(session, sweep),
      onError: (error) => this.#troubled(error),
    });
    const routes = {
      ...options,
      times,
      waiters: this.#waiters,
      sessions: this.#sessions,
      desk: new TurnDesk({ backend, clock, waiters: this.#waiters, weather: this.#weather }),
      renewals: new Batcher<Renewal, readonly LeaseRef[]>((list) => backend.renew(list), { most: MOST_RENEWALS, clock }),
      figures: () => ({ ...this.#figures, connectedWorkers: this.#sessions.count }),
      onTurn: () => void (this.#figures.requests += 1),
      onError: (error: unknown) => this.#noteError(error),
      onGone: (session: string) => this.#weather.interrupted(session),
    };
    this.#server = createServer(
      { headersTimeout: HEADERS_MS, requestTimeout: 0, keepAliveTimeout: 75_000, maxHeaderSize: 16_384 },
      (request, response) => {
        this.#figures.requests += 1;
        answerRequest(routes, request, response).catch((error: unknown) => this.#refuse(request, response, error));
      },
    );
    // The database and its files need descriptors, too.
    const most = Math.min(options.maxConnections, Math.max(8, Math.floor(descriptorLimit() * CONNECTIONS_SHARE)));
    limitConnections(this.#server, clock, { crowd: most, most, idleMs: 0 });
  }

  /** Listens, and begins to check the leases. */
  static async start(options: ServerOptions): Promise<QueueServer> {
    const server = new QueueServer(options);
    // Runs before the first request: leases that expired while no server ran have not ended.
    await options.backend.sweep();
    await server.#listen();
    server.#beating = server.#beat();
    return server;
  }

  get url(): string {
    const { address, port, family } = this.#server.address() as AddressInfo;
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
  }

  /** A watcher of pods knows that a pod ends, and perhaps why. */
  async podEnded(pod: string, { notice, isGone }: PodEnd): Promise<void> {
    const { backend } = this.#options;
    for (const session of await backend.sessionsIn(pod)) {
      const sweep = await backend.explain(session, notice, isGone);
      this.#weather.interrupted(session);
      this.#freed(sweep);
    }
  }

  /** Stops at once. Workers keep their leases and reconnect to the next server. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    this.#sessions.close();
    this.#waiters.wakeAll();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await Promise.all([closed, this.#beating]);
  }

  #listen(): Promise<void> {
    const { host, port } = this.#options;
    return new Promise((resolve, reject) => {
      this.#server.once('error', (error) => {
        const why = {
          EADDRINUSE: 'the port is taken',
          EADDRNOTAVAIL: 'no interface of this machine has this address',
          EACCES: 'no permission',
        }[systemCode(error) ?? ''];
        reject(
          new HoldfastError('QUEUE_ADDRESS_REFUSED', {
            message: `cannot listen on ${host}:${port}: ${why ?? error.message}`,
            cause: error,
          }),
        );
      });
      this.#server.listen({ host, port, backlog: 4096 }, resolve);
    });
  }

  async #beat(): Promise<void> {
    const { backend, clock } = this.#options;
    const { signal } = this.#stopping;
    for (let beat = 1; !signal.aborted; beat++) {
      try {
        await clock.sleep(BEAT_MS, { signal });
      } catch {
        return;
      }
      try {
        const sweep = await backend.sweep();
        this.#freed(sweep);
        if (sweep.extendedMs > 0)
          this.#options.say(`leases were extended by ${Math.round(sweep.extendedMs / 1000)} s in which no server was there`);
        this.#trouble = '';
      } catch (error) {
        this.#troubled(error);
      }
      if (beat % ASK_EVERY_BEATS === 0) this.#waiters.wakeAll();
      this.#weather.tidy(clock.monotonic());
    }
  }

  #lost(session: string, sweep: Sweep): void {
    if (sweep.woken.length > 0) this.#weather.interrupted(session);
    else this.#weather.ended(session);
    this.#freed(sweep);
  }

  #freed({ woken }: Sweep): void {
    for (const queue of woken) this.#waiters.wake(queue);
  }

  #refuse(request: IncomingMessage, response: ServerResponse, error: unknown): void {
    // The usual cause is a client that disconnected, so no answer is possible.
    if (response.destroyed) return void (this.#figures.errors += 1);
    this.#noteError(error);
    if (error instanceof RequestError && !request.complete && !response.headersSent) response.setHeader('connection', 'close');
    sendError(response, error);
  }

  #noteError(error: unknown): void {
    this.#figures.errors += 1;
    if (!(error instanceof HoldfastError) || error.exitCode === 73) this.#troubled(error);
  }

  /** Reports each trouble once, until it has passed. */
  #troubled(thrown: unknown): void {
    const { message } = toError(thrown);
    if (message === this.#trouble) return;
    this.#trouble = message;
    this.#options.say(`trouble: ${message}`);
  }
}
