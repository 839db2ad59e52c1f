import { request } from 'node:http';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

/** The part of an object that the tests read. The API server decides what is in it. */
export interface KubeObject {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly creationTimestamp?: string;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly finalizers?: readonly string[];
  };
  // oxlint-disable-next-line typescript/no-explicit-any -- the shape differs by kind, and tests assert on it
  readonly spec?: any;
  // oxlint-disable-next-line typescript/no-explicit-any -- likewise
  readonly status?: any;
}

/** How long the client waits for a busy server. */
interface Patience {
  readonly tries: number;
  readonly pauseMs: number;
  /** The limit for one answer, from its first byte to its last. */
  readonly answerMs: number;
}

const PATIENCE: Patience = { tries: 10, pauseMs: 1000, answerMs: 60_000 };

interface Answer {
  readonly status: number;
  readonly body: string;
}

interface Content {
  readonly type: string;
  readonly object: unknown;
}

const PATCHES = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
} as const;

/**
 * The cluster's API, through a proxy that listens on a socket file. Processes outside the cluster's
 * network can reach such a file.
 */
export class KubeApi {
  readonly #socket: string;
  readonly #patience: Patience;

  constructor(socket: string, patience: Partial<Patience> = {}) {
    this.#socket = socket;
    this.#patience = { ...PATIENCE, ...patience };
  }

  /** Reads an object; null when it does not exist. */
  async get(path: string): Promise<KubeObject | null> {
    const { status, body } = await this.#read(path);
    return status === 404 ? null : parsed({ status, body }, `GET ${path}`);
  }

  async list(path: string): Promise<readonly KubeObject[]> {
    const found = parsed(await this.#read(path), `GET ${path}`) as unknown as { readonly items: readonly KubeObject[] };
    return found.items;
  }

  async create(path: string, object: unknown): Promise<KubeObject> {
    return parsed(await this.#write('POST', path, { type: 'application/json', object }), `POST ${path}`);
  }

  async patch(path: string, object: unknown, kind: keyof typeof PATCHES = 'merge'): Promise<KubeObject> {
    return parsed(await this.#write('PATCH', path, { type: PATCHES[kind], object }), `PATCH ${path}`);
  }

  async remove(path: string): Promise<void> {
    const { status, body } = await this.#write('DELETE', path);
    if (status !== 404) parsed({ status, body }, `DELETE ${path}`);
  }

  /** Reads plain text, such as a container's log; null when the server refuses. */
  async text(path: string): Promise<string | null> {
    const { status, body } = await this.#read(path);
    return status === 200 ? body : null;
  }

  /** Whether the server answers and is ready now. */
  async isReady(): Promise<boolean> {
    try {
      return (await this.#send('GET', '/readyz')).status === 200;
    } catch {
      return false;
    }
  }

  /**
   * Reports every change as one line of JSON until the signal aborts. It ends by itself only when
   * the server ends it.
   */
  watch(path: string, hear: (line: string) => void, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const fail = (thrown: Error): void => (signal.aborted ? resolve() : reject(thrown));
      const sent = request({ socketPath: this.#socket, path, agent: false, signal }, (response) => {
        if (response.statusCode !== 200) fail(new Error(`GET ${path} was answered with ${response.statusCode}`));
        const lines = createInterface({ input: response });
        lines.on('line', hear);
        lines.on('error', fail);
        lines.on('close', () => fail(new Error(`the watch of ${path} ended`)));
        response.on('error', fail);
      });
      sent.on('error', fail);
      sent.end();
    });
  }

  /** A read can always be repeated. */
  #read(path: string): Promise<Answer> {
    return this.#patiently(
      () => this.#send('GET', path),
      (outcome) => outcome instanceof Error || isTurnedAway(outcome) || outcome.status > 499,
    );
  }

  /** A write is repeated only if the server has certainly not started it. */
  #write(method: string, path: string, content?: Content): Promise<Answer> {
    return this.#patiently(
      () => this.#send(method, path, content),
      (outcome) => (outcome instanceof Error ? isUnconnected(outcome) : isTurnedAway(outcome)),
    );
  }

  async #patiently(send: () => Promise<Answer>, isToBeRepeated: (outcome: Answer | Error) => boolean): Promise<Answer> {
    const { tries, pauseMs } = this.#patience;
    for (let left = tries - 1; ; left -= 1) {
      const outcome = await send().catch((thrown: Error) => thrown);
      if (left > 0 && isToBeRepeated(outcome)) await sleep(pauseMs);
      else if (outcome instanceof Error) throw outcome;
      else return outcome;
    }
  }

  #send(method: string, path: string, content?: Content): Promise<Answer> {
    const { answerMs } = this.#patience;
    const late = AbortSignal.timeout(answerMs);
    return new Promise((resolve, reject) => {
      const fail = (thrown: Error): void => {
        const what = late.aborted ? `was not answered within ${answerMs / 1000} s` : `failed: ${thrown.message}`;
        reject(new Error(`${method} ${path} ${what}`, { cause: thrown }));
      };
      const headers = content === undefined ? {} : { 'content-type': content.type };
      const sent = request({ socketPath: this.#socket, method, path, headers, agent: false, signal: late }, (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (text: string) => (body += text));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
        response.on('error', fail);
      });
      sent.on('error', fail);
      sent.end(content === undefined ? undefined : JSON.stringify(content.object));
    });
  }
}

/** Whether the server was too busy and did nothing. */
function isTurnedAway({ status }: Answer): boolean {
  return status === 429;
}

/** Whether no connection to the server was made. */
function isUnconnected({ cause }: Error): boolean {
  return (cause as NodeJS.ErrnoException | undefined)?.syscall === 'connect';
}

function parsed({ status, body }: Answer, what: string): KubeObject {
  if (status < 200 || status > 299) throw new Error(`${what} was answered with ${status}: ${body.slice(0, 2000)}`);
  return JSON.parse(body) as KubeObject;
}
