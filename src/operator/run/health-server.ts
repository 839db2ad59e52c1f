import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Clock } from '../../core/clock.ts';
import { HoldfastError, systemCode } from '../../core/errors.ts';
import { limitConnections } from '../../core/limit-connections.ts';
import type { Operator } from './operator.ts';

/** The part of an operator that is served. */
export type Served = Pick<Operator, 'isReady' | 'waitsFor' | 'metrics'>;

/** A running server of `/healthz`, `/readyz` and `/metrics`. */
export interface HealthServer {
  /** `http://127.0.0.1:9480`: a port of 0 means any free one. */
  readonly url: string;
  close(): void;
}

const REQUEST_MS = 5000;
const LIMITS = { requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS, keepAliveTimeout: REQUEST_MS, maxHeaderSize: 8 * 1024 };
const CONNECTIONS = { crowd: 32, most: 128, idleMs: 1000 };

/** Serves the health and the metrics of an operator, read-only. */
export async function serveHealth(
  { host, port }: { readonly host: string; readonly port: number },
  operator: Served,
  clock: Clock,
): Promise<HealthServer> {
  const server = createServer(LIMITS, (request, response) => answer(request, response, operator));
  limitConnections(server, clock, CONNECTIONS);
  server.listen({ host, port });
  try {
    await once(server, 'listening');
  } catch (thrown) {
    throw new HoldfastError('OPERATOR_ADDRESS_REFUSED', {
      message: `the metrics cannot be served on ${host} port ${port}: ${systemCode(thrown) ?? String(thrown)}`,
      hint: 'Choose another address with --listen; port 0 is any free one.',
      cause: thrown,
    });
  }
  // Errors of single connections do not matter here.
  server.on('error', () => {});
  const bound = server.address();
  const own = typeof bound === 'object' && bound !== null ? bound.port : port;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${own}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function answer({ method, url }: IncomingMessage, response: ServerResponse, operator: Served): void {
  const [code, body] =
    method === 'GET' || method === 'HEAD' ? bodyFor((url ?? '').split('?')[0] ?? '', operator) : [405, 'only GET and HEAD are answered\n'];
  response.writeHead(code, {
    'content-type': 'text/plain; version=0.0.4; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  response.end(method === 'HEAD' ? undefined : body);
}

function bodyFor(path: string, operator: Served): readonly [code: number, body: string] {
  switch (path) {
    case '/healthz':
      return [200, 'ok\n'];
    case '/readyz':
      return operator.isReady ? [200, 'ok\n'] : [503, `${operator.waitsFor}\n`];
    case '/metrics':
      return [200, operator.metrics()];
    default:
      return [404, 'there are /healthz, /readyz and /metrics\n'];
  }
}
