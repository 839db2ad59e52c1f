import { Agent as HttpAgent, type IncomingMessage, type OutgoingHttpHeaders, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest, type RequestOptions } from 'node:https';
import type { KubeConfig } from '@kubernetes/client-node';
import { HoldfastError, toError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';

/** A request of HTTP. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below the address of the API server; begins with `/`. */
  readonly path: string;
  readonly contentType?: string;
  readonly body?: string;
  readonly signal: AbortSignal;
}

/** The answer of the API server. */
export interface Answer {
  readonly status: number;
  readonly body: string;
  /** The value of the header retry-after, in seconds; null: there is none. */
  readonly retryAfterSeconds: number | null;
}

/** The credentials of one request, and the connections that they belong to. */
interface Access {
  readonly agent: RequestOptions['agent'];
  readonly headers: OutgoingHttpHeaders;
  readonly auth: string | null;
}

const ANSWER_MS = 30_000;
/** The largest answer; a page of five hundred pods is a few megabytes. */
const MOST_BYTES = 64 * 1024 * 1024;
/** Finds out that the other side is gone, where no packet says so. */
const KEEP_ALIVE_MS = 15_000;
const MOST_SOCKETS = 256;

/**
 * Sends requests to an API server with the credentials of a kubeconfig. Connections are kept open
 * and used again; they are made anew when the certificates of the kubeconfig change.
 */
export class Transport {
  readonly server: string;
  readonly #config: KubeConfig;
  #agent: { readonly certificates: string; readonly agent: RequestOptions['agent'] } | null = null;

  constructor(server: string, config: KubeConfig) {
    this.server = server.replace(/\/+$/, '');
    this.#config = config;
  }

  /** The whole answer, with any status. Rejects if none comes within thirty seconds. */
  async send(request: HttpRequest, mostBytes = MOST_BYTES): Promise<Answer> {
    const signal = AbortSignal.any([request.signal, AbortSignal.timeout(ANSWER_MS)]);
    const response = await this.open({ ...request, signal });
    const body = await textOf(response, mostBytes);
    const seconds = Number(response.headers['retry-after'] ?? Number.NaN);
    return { status: response.statusCode ?? 0, body, retryAfterSeconds: Number.isFinite(seconds) ? seconds : null };
  }

  /** The answer from its head on. The signal also ends the body. */
  async open({ method, path, contentType, body, signal }: HttpRequest): Promise<IncomingMessage> {
    const { agent, headers, auth } = await this.#access();
    signal.throwIfAborted();
    const url = new URL(this.server + path);
    const send = url.protocol === 'http:' ? httpRequest : httpsRequest;
    const content =
      body === undefined ? {} : { 'content-type': contentType ?? 'application/json', 'content-length': Buffer.byteLength(body) };
    return new Promise((resolve, reject) => {
      const sent = send(
        url,
        {
          agent,
          ...(auth === null ? {} : { auth }),
          method,
          headers: { ...headers, ...content, accept: 'application/json', 'user-agent': 'holdfast' },
          signal,
        },
        resolve,
      );
      sent.on('error', reject);
      sent.end(body);
    });
  }

  /** Closes the connections that are kept open. */
  [Symbol.dispose](): void {
    const agent = this.#agent?.agent;
    if (typeof agent === 'object') agent.destroy();
    this.#agent = null;
  }

  async #access(): Promise<Access> {
    const options: RequestOptions = {};
    await applyCredentials(this.#config, options);
    const { auth } = options;
    return {
      agent: this.#agentFor(options),
      headers: (options.headers ?? {}) as OutgoingHttpHeaders,
      auth: typeof auth === 'string' ? auth : null,
    };
  }

  #agentFor(options: RequestOptions): RequestOptions['agent'] {
    const { ca, cert, key, rejectUnauthorized, servername } = options;
    const certificates = [ca, cert, key, rejectUnauthorized, servername].map(String).join('\n');
    if (this.#agent?.certificates === certificates) return this.#agent.agent;
    const isProxied = (this.#config.getCurrentCluster()?.proxyUrl ?? '') !== '';
    const kept = { keepAlive: true, keepAliveMsecs: KEEP_ALIVE_MS, maxSockets: MOST_SOCKETS };
    const tls = Object.fromEntries(
      Object.entries({ ca, cert, key, rejectUnauthorized, servername }).filter(([, value]) => value !== undefined),
    );
    const own = this.server.startsWith('http:') ? new HttpAgent(kept) : new HttpsAgent({ ...kept, ...tls });
    const agent = isProxied ? options.agent : own;
    this.#agent = { certificates, agent };
    return agent;
  }
}

async function applyCredentials(config: KubeConfig, options: RequestOptions): Promise<void> {
  try {
    await config.applyToHTTPSOptions(options);
  } catch (thrown) {
    throw new HoldfastError('KUBECONFIG_NOT_USABLE', {
      message: `the credentials of the kubeconfig cannot be had: ${printable(toError(thrown).message.split('\n', 1)[0] ?? '')}`,
      hint: '`kubectl auth whoami` uses the same ones.',
      cause: thrown,
    });
  }
}

function textOf(response: IncomingMessage, mostBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  return new Promise((resolve, reject) => {
    response.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > mostBytes) response.destroy(new Error(`the answer is longer than ${mostBytes} bytes`));
      else chunks.push(chunk);
    });
    response.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
    response.on('error', reject);
  });
}
