import type { Clock } from '../../core/clock.ts';
import { HoldfastError, systemCode, toError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import type { Answer, Transport } from './transport.ts';

/** The surroundings of a connection. */
export interface ConnectionOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const TRIES = 3;

/** Sends the read requests of a command to an API server: a few tries, then an error for people. */
export class Connection {
  readonly #transport: Transport;
  readonly #options: ConnectionOptions;

  constructor(transport: Transport, options: ConnectionOptions) {
    this.#transport = transport;
    this.#options = options;
  }

  /** The answer to GET, with any status below 500; retries transient failures. */
  async get(path: string): Promise<Pick<Answer, 'status' | 'body'>> {
    const { clock, signal } = this.#options;
    for (let left = TRIES - 1; ; left--) {
      try {
        const answer = await this.#transport.send({ method: 'GET', path, signal });
        if (answer.status < 500 && answer.status !== 429) return answer;
        if (left === 0) throw this.#unreachable(`it answered ${answer.status} for ${path}`);
      } catch (thrown) {
        signal.throwIfAborted();
        if (thrown instanceof HoldfastError) throw thrown;
        if (left === 0) throw this.#unreachable(systemCode(thrown) ?? toError(thrown).message, thrown);
      }
      await clock.sleep(500, { signal });
    }
  }

  #unreachable(reason: string, cause?: unknown): HoldfastError {
    return new HoldfastError('CLUSTER_UNREACHABLE', {
      message: `the API server ${printable(this.#transport.server)} cannot be asked: ${printable(reason.slice(0, 300))}`,
      hint: 'Check the context, the network, and whether the cluster is there. With -f a dump is judged without it.',
      cause,
    });
  }
}
