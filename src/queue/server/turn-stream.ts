import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../../core/clock.ts';
import type { LeaseTimes } from '../../domain/queue/lease-times.ts';
import { textLines } from '../text-lines.ts';
import { countField, type Fields, parseJsonObject, textField } from './fields.ts';
import { linePieces } from './read-body.ts';
import { readQueue, readTurn, type SizeLimits, writeTurn } from './read-turn.ts';
import { errorAnswer, RequestError } from './request-error.ts';
import type { TurnDesk } from './turn-desk.ts';

/** The parts that a stream of turns needs. */
export interface TurnStreamOptions {
  readonly desk: TurnDesk;
  readonly limits: SizeLimits;
  readonly clock: Clock;
  readonly times: LeaseTimes;
  readonly onTurn: () => void;
  readonly onError: (error: unknown) => void;
}

/** More turns of one client wait unread. */
const MOST_IN_FLIGHT = 128;

/**
 * Answers the turns of many workers of one process over one request: a line for each turn, and a
 * line for each answer, in any order. What arrives together costs the kernel one read, and what is
 * answered together one write.
 */
export class TurnStream {
  readonly #options: TurnStreamOptions;
  readonly #response: ServerResponse;
  readonly #gone = new AbortController();
  #inFlight = 0;
  #onLanded: () => void = () => {};
  #lines = '';

  constructor(options: TurnStreamOptions, response: ServerResponse) {
    this.#options = options;
    this.#response = response;
    response.once('close', () => {
      this.#gone.abort(new Error('the connection is closed'));
      this.#onLanded();
    });
  }

  /** Resolves once the client has ended the request, and every turn of it is answered. */
  async answer(request: IncomingMessage): Promise<void> {
    const { limits, clock } = this.#options;
    this.#response.writeHead(200, { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' });
    // The client sends its turns once it knows that this server takes them.
    this.#response.flushHeaders();
    for await (const { text } of textLines(linePieces(request, clock), limits.bodyBytes)) {
      if (text === null) throw new RequestError(413, `a line has more than ${limits.bodyBytes} bytes`);
      if (text !== '') void this.#answerLine(text);
      await this.#hasRoom(MOST_IN_FLIGHT);
    }
    await this.#hasRoom(1);
    this.#flush();
    this.#response.end();
  }

  /** Resolves once fewer turns than that are under way, and the client reads its answers. */
  async #hasRoom(most: number): Promise<void> {
    while (this.#inFlight >= most && !this.#gone.signal.aborted) {
      await new Promise<void>((resolve) => (this.#onLanded = resolve));
    }
    if (this.#response.writableNeedDrain) await once(this.#response, 'drain', { signal: this.#gone.signal });
  }

  async #answerLine(text: string): Promise<void> {
    const { onTurn, onError } = this.#options;
    this.#inFlight += 1;
    onTurn();
    let id: number | null = null;
    try {
      const fields = parseJsonObject(text);
      id = countField(fields, 'id', { most: Number.MAX_SAFE_INTEGER });
      this.#send({ id, ...(await this.#take(fields)) });
    } catch (thrown) {
      onError(thrown);
      this.#send({ id, ...errorAnswer(thrown) });
    }
    this.#inFlight -= 1;
    this.#onLanded();
  }

  async #take(fields: Fields): Promise<object> {
    const { desk, limits, times } = this.#options;
    const queue = readQueue(textField(fields, 'queue', 1000));
    // A turn that waits has a request of its own, which its worker can cancel.
    const answer = await desk.take(queue, { ...readTurn(fields, limits), waitMs: 0 }, this.#gone.signal);
    return writeTurn(answer, limits, times);
  }

  /** Sends what is answered together in one piece. */
  #send(answer: object): void {
    if (this.#lines === '') process.nextTick(() => this.#flush());
    this.#lines += `${JSON.stringify(answer)}\n`;
  }

  #flush(): void {
    const lines = this.#lines;
    this.#lines = '';
    if (lines !== '' && !this.#response.destroyed) this.#response.write(lines);
  }
}
