import { createServer, type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { createServer as createTlsServer } from 'node:https';
import { readFileSync } from 'node:fs';
import { type Certificates, type Listening, listen, passOn } from './tls.ts';

/** A running forward proxy. */
export interface ForwardProxy extends Listening {
  /** `GET http://store.test/…` or `CONNECT store.test:443`, in the order of arrival. */
  readonly asked: readonly string[];
}

/** How a forward proxy routes and whom it accepts. */
export interface ForwardOptions {
  /** The port of each host name; the proxy never looks up a name. */
  readonly hosts: Readonly<Record<string, number>>;
  /** The credentials it requires; it accepts every client without them. */
  readonly user?: string;
  /** The certificates for a proxy that speaks TLS itself. */
  readonly certificates?: Certificates;
}

/**
 * Starts a proxy like those of companies: plain requests with the whole address, and tunnels by
 * CONNECT.
 */
export async function startForwardProxy({ hosts, user, certificates }: ForwardOptions): Promise<ForwardProxy> {
  const asked: string[] = [];
  const isWelcome = ({ headers }: IncomingMessage): boolean =>
    user === undefined || headers['proxy-authorization'] === `Basic ${Buffer.from(user).toString('base64')}`;
  const server =
    certificates === undefined
      ? createServer()
      : createTlsServer({ cert: readFileSync(certificates.certificate), key: readFileSync(certificates.key) });
  server.on('request', (incoming: IncomingMessage, outgoing) => {
    asked.push(`${incoming.method ?? ''} ${incoming.url ?? ''}`);
    const url = new URL(incoming.url ?? '');
    const port = hosts[url.host];
    if (!isWelcome(incoming) || port === undefined) return void outgoing.writeHead(isWelcome(incoming) ? 502 : 407).end();
    const { 'proxy-authorization': _, ...headers } = incoming.headers;
    const onward = request(
      { host: '127.0.0.1', port, method: incoming.method, path: `${url.pathname}${url.search}`, headers },
      (response) => {
        outgoing.writeHead(response.statusCode ?? 500, response.headers);
        response.pipe(outgoing);
      },
    );
    onward.on('error', () => outgoing.destroy());
    incoming.pipe(onward);
  });
  server.on('connect', (incoming: IncomingMessage, socket) => {
    asked.push(`CONNECT ${incoming.url ?? ''}`);
    const port = hosts[incoming.url ?? ''];
    if (!isWelcome(incoming) || port === undefined) return void socket.end(`HTTP/1.1 ${isWelcome(incoming) ? 502 : 407} No\r\n\r\n`);
    const onward = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      passOn(socket as typeof onward, onward);
    });
    onward.on('error', () => socket.destroy());
  });
  return { asked, ...(await listen(server)) };
}
