import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, type Server as NetServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';

/** A certificate authority of the test, and its certificate for one name. */
export interface Certificates {
  /** The authority's certificate, for AWS_CA_BUNDLE. */
  readonly authority: string;
  readonly certificate: string;
  readonly key: string;
}

/** Says why this machine cannot make certificates; null when it can. */
export function whyNoCertificates(): string | null {
  return spawnSync('openssl', ['version']).status === 0 ? null : 'openssl is not installed';
}

/** Makes an authority and a certificate for the names. */
export function makeCertificates(folder: string, ...names: readonly string[]): Certificates {
  const file = (name: string): string => join(folder, name);
  const openssl = (...args: readonly string[]): void => void execFileSync('openssl', args, { stdio: 'ignore' });
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  openssl('req', '-x509', ...key, '-keyout', file('ca.key'), '-out', file('ca.pem'), '-subj', '/CN=A test’s own authority', '-days', '2');
  openssl('req', ...key, '-keyout', file('server.key'), '-out', file('server.csr'), '-subj', '/CN=server');
  writeFileSync(file('names'), `subjectAltName=${names.map((name) => `${/^[\d.]+$/.test(name) ? 'IP' : 'DNS'}:${name}`).join(',')}\n`);
  const signing = ['-CA', file('ca.pem'), '-CAkey', file('ca.key'), '-CAcreateserial', '-days', '2', '-extfile', file('names')];
  openssl('x509', '-req', '-in', file('server.csr'), '-out', file('server.pem'), ...signing);
  return { authority: file('ca.pem'), certificate: file('server.pem'), key: file('server.key') };
}

/** A server on a port of the loopback interface. */
export interface Listening extends AsyncDisposable {
  readonly port: number;
}

/** Starts a TLS server that passes the plain bytes on to another port. */
export function startTlsFront(targetPort: number, { certificate, key }: Certificates): Promise<Listening> {
  const options = { cert: readFileSync(certificate), key: readFileSync(key) };
  return listen(createTlsServer(options, (socket) => passOn(socket, connect(targetPort, '127.0.0.1'))));
}

/** Passes bytes on in both directions until either side ends. */
export function passOn(one: Socket, two: Socket): void {
  one.pipe(two).pipe(one);
  one.on('error', () => two.destroy());
  two.on('error', () => one.destroy());
}

/** Starts a server on a free port, and closes its sockets at the end of the scope. */
export async function listen(server: NetServer): Promise<Listening> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
