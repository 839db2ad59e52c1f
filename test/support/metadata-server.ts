import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** What a server answers: at once, later, or never. */
export type Answering = (request: IncomingMessage, url: URL) => Reply | Promise<Reply>;

/**
 * A real HTTP server on its own port that plays a metadata service: `await using server = await
 * MetadataServer.start(…)`.
 */
export class MetadataServer {
  /** Every request, oldest first: `GET /path`. */
  readonly requests: string[] = [];
  readonly #server: Server;

  private constructor(answering: Answering) {
    this.#server = createServer((request, response) => void this.#answer(request, response, answering));
  }

  static async start(answering: Answering): Promise<MetadataServer> {
    const server = new MetadataServer(answering);
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse, answering: Answering): Promise<void> {
    this.requests.push(`${request.method} ${request.url}`);
    const { status = 200, headers = {}, body = '' } = await answering(request, new URL(request.url ?? '/', 'http://any'));
    response.writeHead(status, headers).end(body);
  }
}

/** Never answers. */
export const hang: Answering = () => new Promise<Reply>(() => {});

/**
 * Google Cloud's service, by its documentation: the header in both directions, values with a tag,
 * and answers that wait for a change.
 */
export class GoogleMetadata {
  readonly #values: Map<string, string>;
  readonly #waiting = new Set<() => void>();
  #tag = 1;

  constructor(values: Readonly<Record<string, string>> = {}) {
    this.#values = new Map(
      Object.entries({ id: '1', preempted: 'FALSE', 'maintenance-event': 'NONE', 'scheduling/preemptible': 'FALSE', ...values }),
    );
  }

  /** How many answers are waiting now. */
  get waiting(): number {
    return this.#waiting.size;
  }

  set(path: string, value: string): void {
    this.#values.set(path, value);
    this.#tag++;
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  readonly answer: Answering = async (request, url) => {
    if (request.headers['metadata-flavor'] !== 'Google') return { status: 403 };
    const path = url.pathname.replace('/computeMetadata/v1/instance/', '');
    if (url.searchParams.get('wait_for_change') === 'true' && url.searchParams.get('last_etag') === String(this.#tag)) {
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
    const value = this.#values.get(path);
    return {
      status: value === undefined ? 404 : 200,
      headers: { 'Metadata-Flavor': 'Google', etag: String(this.#tag) },
      body: value ?? '',
    };
  };
}

interface AzureEvent {
  readonly EventType: string;
  readonly Resources: readonly string[];
  readonly EventStatus?: string;
  readonly NotBefore?: string;
}

/** Azure's service: the machine `trainer_0`, and the scheduled events of its whole group. */
export class AzureMetadata {
  events: readonly AzureEvent[] = [];
  readonly #priority: string;

  constructor(priority = 'Regular') {
    this.#priority = priority;
  }

  readonly answer: Answering = (request, url) => {
    if (request.headers['metadata'] !== 'true') return { status: 400 };
    if (url.pathname === '/metadata/instance/compute') {
      return { body: JSON.stringify({ name: 'trainer_0', vmId: 'f00', priority: this.#priority }) };
    }
    if (url.pathname !== '/metadata/scheduledevents') return { status: 404 };
    const Events = this.events.map((event, index) => ({
      EventId: `E-${index}`,
      ResourceType: 'VirtualMachine',
      EventStatus: 'Scheduled',
      ...event,
    }));
    return { body: JSON.stringify({ DocumentIncarnation: 1, Events }) };
  };
}

/** The part of AWS's service that its own mock lacks: tokens that expire. */
export class AmazonMetadata {
  readonly values: Map<string, string>;
  tokens = 0;
  ttlSeconds = '21600';
  #valid = '';

  constructor(values: Readonly<Record<string, string>> = {}) {
    this.values = new Map(Object.entries({ 'instance-id': 'i-0123456789abcdef0', 'instance-life-cycle': 'on-demand', ...values }));
  }

  /** Invalidates every token. */
  forgetTokens(): void {
    this.#valid = '';
  }

  readonly answer: Answering = (request, url) => {
    if (url.pathname === '/latest/api/token') {
      if (request.method !== 'PUT' || request.headers['x-aws-ec2-metadata-token-ttl-seconds'] === undefined) return { status: 405 };
      this.#valid = `token-${++this.tokens}`;
      return { headers: { 'x-aws-ec2-metadata-token-ttl-seconds': this.ttlSeconds }, body: this.#valid };
    }
    if (this.#valid === '' || request.headers['x-aws-ec2-metadata-token'] !== this.#valid) return { status: 401 };
    const value = this.values.get(url.pathname.replace('/latest/meta-data/', ''));
    return value === undefined ? { status: 404 } : { body: value };
  };
}
