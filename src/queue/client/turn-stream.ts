import type { ClientRequest, IncomingMessage } from 'node:http';
import type { ServerError } from './server-error.ts';

/** An answer as it comes: that of the server to this turn, or an error. */
interface TurnLine {
  readonly id: number | null;
  readonly error?: ServerError;
}

interface Asked {
  readonly resolve: (answer: object) => void;
  readonly reject: (error: unknown) => void;
}

/** The errors of a stream. */
export interface StreamErrors {
  /** The connection broke. */
  readonly onBroken: (thrown: unknown) => Error;
  /** The server refused a turn. */
  readonly onRefused: (error: ServerError) => Error;
}

/**
 * Many turns over one request: all workers of a process share a connection. Turns that are asked
 * for together travel together.
 */
export class TurnStream {
  readonly #request: ClientRequest;
  readonly #errors: StreamErrors;
  readonly #asked = new Map<number, Asked>();
  #last = 0;
  #lines = '';
  #rest = '';
  #failure: Error | null = null;

  /** The server has answered the request, and reads turns from now on. */
  constructor(request: ClientRequest, response: IncomingMessage, errors: StreamErrors) {
    this.#request = request;
    this.#errors = errors;
    const broke = (thrown: unknown): void => this.#end(thrown);
    request.on('error', broke);
    response.on('error', broke);
    response.on('close', () => broke(new Error('the connection broke')));
    response.setEncoding('utf8').on('data', (text: string) => this.#read(text));
  }

  /** Asks one turn; a turn without an answer may be asked again on another stream. */
  ask(queue: string, turn: object): Promise<object> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      const id = (this.#last += 1);
      this.#asked.set(id, { resolve, reject });
      if (this.#lines === '') process.nextTick(() => this.#flush());
      this.#lines += `${JSON.stringify({ id, queue, ...turn })}\n`;
    });
  }

  #flush(): void {
    const lines = this.#lines;
    this.#lines = '';
    if (this.#failure === null) this.#request.write(lines);
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    try {
      for (const line of lines) this.#answer(JSON.parse(line) as TurnLine);
    } catch (thrown) {
      this.#end(thrown);
      this.#request.destroy();
    }
  }

  #answer(line: TurnLine): void {
    const { id, error, ...answer } = line;
    const asked = this.#asked.get(id ?? 0);
    if (asked === undefined) throw new Error('an answer belongs to no turn');
    this.#asked.delete(id ?? 0);
    if (error === undefined) asked.resolve(answer);
    else asked.reject(this.#errors.onRefused(error));
  }

  #end(thrown: unknown): void {
    if (this.#failure !== null) return;
    this.#failure = this.#errors.onBroken(thrown);
    for (const { reject } of this.#asked.values()) reject(this.#failure);
    this.#asked.clear();
  }
}
