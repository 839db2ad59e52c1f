import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { HoldfastError, systemCode } from '../../core/errors.ts';
import { formatAddress, type StatusAddress } from './address.ts';
import { renderMetrics } from './metrics.ts';
import type { Status } from './status.ts';

export interface StatusServer {
  /** Where it is really served: a port of 0 is any that is free. */
  readonly address: StatusAddress;
  close(): void;
}

const MAX_CONNECTIONS = 32;
const REQUEST_MS = 5000;
const MAX_HEADER_BYTES = 8 * 1024;

interface Reply {
  readonly code: number;
  readonly type: string;
  readonly body: string;
}

/** Serves what `look` says, read-only and to few at a time. Throws a HoldfastError when it cannot listen there. */
export async function serveStatus(address: StatusAddress, look: () => Status): Promise<StatusServer> {
  const server = createServer(
    { requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS, keepAliveTimeout: REQUEST_MS, maxHeaderSize: MAX_HEADER_BYTES },
    (request, response) => send(request, response, replyTo(request, look)),
  );
  server.maxConnections = MAX_CONNECTIONS;
  server.listen({ host: address.host, port: address.port });
  try {
    await once(server, 'listening');
  } catch (thrown) {
    throw new HoldfastError('STATUS_FAILED', {
      message: `the status cannot be served on ${formatAddress(address)}: ${systemCode(thrown) ?? String(thrown)}; training goes on without it`,
      hint: 'Choose another port, or --status=0 for any that is free.',
      cause: thrown,
    });
  }
  // What happens to single connections is their own matter.
  server.on('error', () => {});
  // Nobody who only looks keeps a run from ending.
  server.unref();
  const bound = server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : address.port;
  return {
    address: { host: address.host, port },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function replyTo({ method, url }: IncomingMessage, look: () => Status): Reply {
  if (method !== 'GET' && method !== 'HEAD') return plain(405, 'only GET and HEAD are answered');
  try {
    switch ((url ?? '').split('?')[0]) {
      case '/metrics':
        return { code: 200, type: 'text/plain; version=0.0.4; charset=utf-8', body: renderMetrics(look()) };
      case '/status':
        return { code: 200, type: 'application/json', body: `${JSON.stringify(look(), null, 2)}\n` };
      case '/healthz':
        return look().hang?.isHung === true ? plain(503, 'the trainer seems to hang') : plain(200, 'ok');
      default:
        return plain(404, 'there are /metrics, /status and /healthz');
    }
  } catch (thrown) {
    return plain(500, `error INTERNAL: ${String(thrown)}`);
  }
}

function plain(code: number, text: string): Reply {
  return { code, type: 'text/plain; charset=utf-8', body: `${text}\n` };
}

function send({ method }: IncomingMessage, response: ServerResponse, { code, type, body }: Reply): void {
  response.writeHead(code, {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  response.end(method === 'HEAD' ? undefined : body);
}
