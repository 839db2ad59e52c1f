import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Clock } from '../../core/clock.ts';
import { descriptorLimit } from '../../core/descriptor-limit.ts';
import { HoldfastError, systemCode } from '../../core/errors.ts';
import { type ConnectionLimits, limitConnections } from '../../core/limit-connections.ts';
import { formatAddress, type StatusAddress } from '../settings/status-address.ts';
import { renderMetrics } from './metrics.ts';
import type { Status } from './status.ts';

/** A running status server. */
export interface StatusServer {
  /** The address in use: a port of 0 means any free one. */
  readonly address: StatusAddress;
  close(): void;
}

const REQUEST_MS = 5000;
/** How often the server looks for connections above the limit. */
const CHECK_MS = 1000;
const MAX_HEADER_BYTES = 8 * 1024;

interface Reply {
  readonly code: number;
  readonly type: string;
  readonly body: string;
}

const LIMITS = {
  requestTimeout: REQUEST_MS,
  headersTimeout: REQUEST_MS,
  keepAliveTimeout: REQUEST_MS,
  connectionsCheckingInterval: CHECK_MS,
  maxHeaderSize: MAX_HEADER_BYTES,
};

/**
 * Room for some monitoring systems and a kubelet, but at most an eighth of the descriptors, so that
 * saves have theirs.
 */
export function statusLimits(descriptors: number): ConnectionLimits {
  const most = Math.max(8, Math.min(128, Math.floor(descriptors / 8)));
  return { crowd: Math.min(32, most / 2), most, idleMs: 1000 };
}

/**
 * Serves the result of `look`, read-only. Idle connections are closed when new ones come, so that a
 * health check is always answered. Throws a HoldfastError when it cannot listen there.
 */
export async function serveStatus(address: StatusAddress, look: () => Status, clock: Clock): Promise<StatusServer> {
  const server = createServer(LIMITS, (request, response) => send(request, response, replyTo(request, look)));
  limitConnections(server, clock, statusLimits(descriptorLimit()));
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
  // Errors of single connections do not matter here.
  server.on('error', () => {});
  // An open connection does not keep the run from ending.
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
        return plain(404, 'the paths are /metrics, /status and /healthz');
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
