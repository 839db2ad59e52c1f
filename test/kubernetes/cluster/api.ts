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

const [READ_TRIES, READ_PAUSE_MS] = [10, 1000];

interface Answer {
  readonly status: number;
  readonly body: string;
}

const PATCHES = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
} as const;

/** The cluster's API, through a proxy that listens on a socket file: such a one can be reached from outside of the cluster's network. */
export class KubeApi {
  readonly #socket: string;

  constructor(socket: string) {
    this.#socket = socket;
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
    return parsed(await this.#send('POST', path, { type: 'application/json', object }), `POST ${path}`);
  }

  async patch(path: string, object: unknown, kind: keyof typeof PATCHES = 'merge'): Promise<KubeObject> {
    return parsed(await this.#send('PATCH', path, { type: PATCHES[kind], object }), `PATCH ${path}`);
  }

  async remove(path: string): Promise<void> {
    const { status, body } = await this.#send('DELETE', path);
    if (status !== 404) parsed({ status, body }, `DELETE ${path}`);
  }

  /** Plain text: the log of a container, or whether the server is ready. Null when it is refused. */
  async text(path: string): Promise<string | null> {
    const { status, body } = await this.#send('GET', path);
    return status === 200 ? body : null;
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

  /** Again where the server is too busy to answer: a question may be asked twice. */
  async #read(path: string): Promise<Answer> {
    for (let left = READ_TRIES - 1; ; left -= 1) {
      const answer = await this.#send('GET', path).catch((thrown: unknown) => {
        if (left === 0) throw thrown;
        return null;
      });
      const isBusy = answer === null || answer.status === 429 || answer.status > 499;
      if (answer !== null && (!isBusy || left === 0)) return answer;
      await sleep(READ_PAUSE_MS);
    }
  }

  #send(method: string, path: string, content?: { readonly type: string; readonly object: unknown }): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const headers = content === undefined ? {} : { 'content-type': content.type };
      const sent = request({ socketPath: this.#socket, method, path, headers, agent: false }, (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (text: string) => (body += text));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
        response.on('error', reject);
      });
      sent.on('error', reject);
      sent.end(content === undefined ? undefined : JSON.stringify(content.object));
    });
  }
}

function parsed({ status, body }: Answer, what: string): KubeObject {
  if (status < 200 || status > 299) throw new Error(`${what} was answered with ${status}: ${body.slice(0, 2000)}`);
  return JSON.parse(body) as KubeObject;
}
