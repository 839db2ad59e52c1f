import { request } from 'node:http';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

/** As much of an object as the tests read. What it holds is the API server's to say. */
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

/** How patient it is with a busy server. */
interface Patience {
  readonly tries: number;
  readonly pauseMs: number;
  /** For one answer, from its beginning to its end. */
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

/** The cluster's API, through a proxy that listens on a socket file: such a one can be reached from outside of the cluster's network. */
export class KubeApi {
  readonly #socket: string;
  readonly #patience: Patience;

  constructor(socket: string, patience: Partial<Patience> = {}) {
    this.#socket = socket;
    this.#patience = { ...PATIENCE, ...patience };
  }

  /** Null when there is no such object. */
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

  /** Plain text: the log of a container, for example. Null when it is refused. */
  async text(path: string): Promise<string | null> {
    const { status, body } = await this.#read(path);
    return status === 200 ? body : null;
  }

  /** Whether the server is there, and ready, at this moment. */
  async isReady(): Promise<boolean> {
    try {
      return (await this.#send('GET', '/readyz')).status === 200;
    } catch {
      return false;
    }
  }

  /** Hears of every change, as one line of JSON each, until it is called off. Ends by itself only when the server ends it. */
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

  /** A question may be asked again whatever became of it. */
  #read(path: string): Promise<Answer> {
    return this.#patiently(
      () => this.#send('GET', path),
      (outcome) => outcome instanceof Error || isTurnedAway(outcome) || outcome.status > 499,
    );
  }

  /** A change is asked for again only where the server has certainly not begun with it. */
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

/** The server had too much to do, and has done nothing. */
function isTurnedAway({ status }: Answer): boolean {
  return status === 429;
}

/** Nobody was there to hear it. */
function isUnconnected({ cause }: Error): boolean {
  return (cause as NodeJS.ErrnoException | undefined)?.syscall === 'connect';
}

function parsed({ status, body }: Answer, what: string): KubeObject {
  if (status < 200 || status > 299) throw new Error(`${what} was answered with ${status}: ${body.slice(0, 2000)}`);
  return JSON.parse(body) as KubeObject;
}
