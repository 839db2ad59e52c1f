import { realClock } from '../../src/core/clock.ts';
import { HoldfastError } from '../../src/core/errors.ts';
import { QueueClient } from '../../src/queue/client/client.ts';
import { ServerProcess } from './processes.ts';

/** The queue of a {@link Life}, and what it holds. */
export const QUEUE = 'life';
export const ITEMS = Array.from({ length: 8 }, (_, i) => ({ key: `k${i}`, value: JSON.stringify('v'.repeat(500)) }));
const LINES = ITEMS.map((item) => `${JSON.stringify(item)}\n`).join('');
const SESSION = { id: 'the-only-worker', node: 'n', process: 'p' };

interface Given {
  readonly item: number;
  readonly token: number;
  readonly generation: number;
  readonly key: string;
}

interface Answer {
  readonly leases: readonly Given[];
  readonly commits: readonly { readonly verdict: string }[];
  readonly drained: boolean;
}

/** What a {@link Life} runs on. */
export interface LifeOptions {
  /** The options of its servers. */
  readonly args: readonly string[];
  /** Called when a server has ended, before the next one starts. */
  readonly onEnd?: () => Promise<void>;
}

/**
 * The life of a few items with the only worker of their queue. A server that has ended is followed
 * by another one.
 */
export class Life implements AsyncDisposable {
  readonly #options: LifeOptions;
  /** The results whose commits were answered. */
  readonly acknowledged = new Map<string, string>();
  #server: ServerProcess | null = null;

  constructor(options: LifeOptions) {
    this.#options = options;
  }

  /** If the fault ends the server before it listens, another one follows. */
  async start(before: readonly string[] = []): Promise<void> {
    this.#server = await ServerProcess.start(this.#options.args, before).catch(() => null);
  }

  async push(): Promise<void> {
    await this.#ask(`/v1/queues/${QUEUE}/items`, LINES);
  }

  /**
   * Leases two items and hands in. The second round also reports progress, and the third gives one
   * item back. Returns false when nothing is left.
   */
  async work(round: number): Promise<boolean> {
    const { leases, drained } = await this.#turn({ lease: { most: 2 } });
    if (drained) return false;
    const [first, second] = leases;
    if (first === undefined) {
      // Takes back the leases of an answer that was lost; there is no other worker.
      await this.#ask(`/v1/sessions/${SESSION.id}/gone`, { notice: 'an answer was not heard' });
      return true;
    }
    if (round === 2) await this.#turn({ progress: [{ item: first.item, token: first.token, state: '{"row":1}' }] });
    const back = round === 3 ? second : undefined;
    await this.#handIn(
      leases.filter((one) => one !== back),
      back === undefined ? [] : [{ item: back.item, token: back.token }],
    );
    return true;
  }

  /**
   * Leases two items, and commits them in a request that leases the next two. `before` is called
   * between both, with the server's process.
   */
  async commitTwo(before: (server: number) => Promise<void>): Promise<void> {
    const { leases } = await this.#turn({ lease: { most: 2 } });
    await before(this.#server?.child.pid ?? 0);
    await this.#handIn(leases, [], { lease: { most: 2 } });
  }

  async #handIn(done: readonly Given[], releases: readonly object[], next: object = {}): Promise<void> {
    const commits = done.map(({ item, token, generation, key }) => ({
      item,
      token,
      generation,
      result: JSON.stringify(`result of ${key}`),
    }));
    const answer = await this.#turn({ commits, releases, ...next });
    for (const [i, { key }] of done.entries()) {
      const isTaken = ['write', 'same'].includes(answer.commits[i]?.verdict ?? '');
      if (isTaken) this.acknowledged.set(key, JSON.stringify(`result of ${key}`));
    }
  }

  #turn(body: object): Promise<Answer> {
    return this.#ask<Answer>(`/v1/queues/${QUEUE}/turn`, { session: SESSION, ...body });
  }

  /**
   * Repeats a request until it is answered. Only a server that has ended is replaced. A server that
   * met a full disk must continue by itself.
   */
  async #ask<T>(path: string, body: object | string): Promise<T> {
    for (;;) {
      this.#server ??= await ServerProcess.start(this.#options.args);
      const client = new QueueClient({ url: this.#server.url, token: null, clock: realClock, tries: 2 });
      try {
        return typeof body === 'string' ? await client.upload<T>(path, pieces(body)) : await client.json<T>('POST', path, { body });
      } catch (thrown) {
        if (!(thrown instanceof HoldfastError)) throw thrown;
        if (thrown.code !== 'QUEUE_UNREACHABLE') continue;
        await this.#server.end('SIGKILL');
        this.#server = null;
        await this.#options.onEnd?.();
      } finally {
        client.close();
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.end('SIGKILL');
  }
}

/** Pushes the items to a server. */
export async function pushItems(url: string): Promise<void> {
  const client = new QueueClient({ url, token: null, clock: realClock, tries: 2 });
  await client.upload(`/v1/queues/${QUEUE}/items`, pieces(LINES)).finally(() => client.close());
}

async function* pieces(text: string): AsyncGenerator<string> {
  yield text;
}
