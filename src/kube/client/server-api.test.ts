import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.ts';
import { realClock } from '../../core/clock.ts';
import type { WatchEvent } from '../api/kube-api.ts';
import { PODS } from '../api/resources.ts';
import { openCluster } from './open-cluster.ts';
import { RateLimit } from './rate-limit.ts';
import { ServerApi } from './server-api.ts';

const started: Server[] = [];
afterEach(() => {
  for (const server of started.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

const { signal } = new AbortController();
const METADATA = { name: 'a', namespace: 'ml', uid: 'u', resourceVersion: '7', creationTimestamp: '2026-01-01T00:00:00Z' };
const POD = { metadata: { ...METADATA, managedFields: [{ manager: 'kubectl' }] }, spec: {} };
const WATCH = { namespace: null, resourceVersion: '1', timeoutSeconds: 60 };

/** The API of a server that answers so. */
async function apiOf(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<ServerApi> {
  const server = createServer(answer);
  started.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  using dir = tempFolder();
  const kubeconfig = join(dir.path, 'kubeconfig');
  const cluster = { server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, 'insecure-skip-tls-verify': true };
  const names = { 'current-context': 'here', contexts: [{ name: 'here', context: { cluster: 'here', user: 'me' } }] };
  const access = { clusters: [{ name: 'here', cluster }], users: [{ name: 'me', user: { token: 'secret' } }] };
  writeFileSync(kubeconfig, JSON.stringify({ apiVersion: 'v1', kind: 'Config', ...names, ...access }));
  const { transport } = await openCluster({ kubeconfig, context: null, clock: realClock, signal });
  return new ServerApi(transport, new RateLimit({ perSecond: 1000, burst: 1000 }, realClock));
}

function refuses(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<ServerApi> {
  return apiOf((_, response) => response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body)));
}

describe('the API of a server', () => {
  it('sends the credentials, and drops the managed fields of what it reads', async () => {
    let authorization: string | undefined;
    const api = await apiOf((request, response) => {
      ({ authorization } = request.headers);
      response.end(JSON.stringify(POD));
    });
    const got = await api.get(PODS, { namespace: 'ml', name: 'a' }, { signal });
    expect(got).toEqual({ ok: true, value: { apiVersion: 'v1', kind: 'Pod', metadata: METADATA, spec: {} } });
    expect(authorization).toBe('Bearer secret');
  });

  it.each([
    [400, 'BadRequest', 'invalid'],
    [401, 'Unauthorized', 'forbidden'],
    [403, 'Forbidden', 'forbidden'],
    [404, 'NotFound', 'notFound'],
    [409, 'AlreadyExists', 'alreadyExists'],
    [409, 'Conflict', 'conflict'],
    [410, 'Expired', 'gone'],
    [422, 'Invalid', 'invalid'],
    [429, 'TooManyRequests', 'tooManyRequests'],
    [500, 'InternalError', 'unavailable'],
    [504, 'Timeout', 'unavailable'],
  ])('answers %i (%s) as the outcome %s', async (code, reason, kind) => {
    const api = await refuses(code, { kind: 'Status', code, reason, message: 'pods "a": a reason' });
    const message = 'get pods "ml/a": pods "a": a reason';
    expect(await api.get(PODS, { namespace: 'ml', name: 'a' }, { signal })).toMatchObject({ ok: false, kind, status: code, message });
  });

  it('tells when to ask again, from the header or the status', async () => {
    const header = await refuses(429, 'slow down', { 'retry-after': '3' });
    expect(await header.get(PODS, { namespace: 'ml', name: 'a' }, { signal })).toMatchObject({ retryAfterMs: 3000 });
    const status = await refuses(429, { details: { retryAfterSeconds: 7 } });
    expect(await status.get(PODS, { namespace: 'ml', name: 'a' }, { signal })).toMatchObject({ retryAfterMs: 7000 });
  });

  it('is unavailable where no server answers, and where the answer is not an answer of Kubernetes', async () => {
    const cut = await apiOf((request) => request.socket.destroy());
    expect(await cut.get(PODS, { namespace: 'ml', name: 'a' }, { signal })).toMatchObject({ ok: false, kind: 'unavailable', status: null });
    for (const body of ['<html>\u001b[31m', '[]', '{"metadata": {"name": "a"}}']) {
      const strange = await refuses(200, body);
      expect(await strange.get(PODS, { namespace: 'ml', name: 'a' }, { signal })).toMatchObject({ ok: false, kind: 'unavailable' });
    }
  });

  it('keeps the end of a log, and refuses an answer of a pod that is too long', async () => {
    const api = await refuses(200, 'first\nlast');
    const pod = { namespace: 'ml', name: 'a' };
    expect(await api.logTail(pod, { signal, container: 'main', lines: 2, mostBytes: 4 })).toEqual({ ok: true, value: 'last' });
    expect(await api.proxyGet(pod, { signal, port: 9400, path: '/status', mostBytes: 4 })).toMatchObject({ kind: 'unavailable' });
  });
});

describe('a watch of a server', () => {
  const added = JSON.stringify({ type: 'ADDED', object: POD });

  async function watched(send: (response: ServerResponse) => void) {
    const events: WatchEvent[] = [];
    const api = await apiOf((_, response) => {
      response.writeHead(200);
      send(response);
    });
    const outcome = await api.watch(PODS, WATCH, (event) => events.push(event), { signal });
    return { outcome, types: events.map(({ type }) => type) };
  }

  it('reads events across the borders of packets, and ends as the server ends it', async () => {
    const bookmark = JSON.stringify({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '9' } } });
    const text = `${added}\n${bookmark}\n${added.replace('ADDED', 'DELETED')}\n`;
    const { outcome, types } = await watched((response) => {
      response.write(text.slice(0, 30));
      setImmediate(() => response.end(text.slice(30)));
    });
    expect(outcome).toEqual({ ok: true, value: null });
    expect(types).toEqual(['added', 'bookmark', 'deleted']);
  });

  it('is gone when the server says so in the middle', async () => {
    const error = JSON.stringify({ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' } });
    const { outcome, types } = await watched((response) => response.end(`${added}\n${error}\n`));
    expect(outcome).toMatchObject({ ok: false, kind: 'gone', message: 'watch pods: too old' });
    expect(types).toEqual(['added']);
  });

  it('is unavailable when the connection breaks, or an event is not understood', async () => {
    expect(
      (
        await watched((response) => {
          response.write(`${added}\n`, () => response.destroy());
        })
      ).outcome,
    ).toMatchObject({ kind: 'unavailable' });
    expect((await watched((response) => response.end('{"type": "ADDED"}\n'))).outcome).toMatchObject({ kind: 'unavailable' });
    expect((await watched((response) => response.end('no json\n'))).outcome).toMatchObject({ kind: 'unavailable' });
  });
});
