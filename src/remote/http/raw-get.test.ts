import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { plainHead as plain, serve } from '../../../test/support/raw-server.ts';
import { type DirectSink, RawConnections } from './raw-get.ts';

/** Takes bytes into buffers of one size, and makes the sender wait after each full one. */
class Collector implements DirectSink {
  readonly chunks: Buffer[] = [];
  #held = 0;
  #room: Buffer;

  constructor(size: number) {
    this.#room = Buffer.alloc(size);
  }

  room(): Buffer {
    return this.#room.subarray(this.#held);
  }

  filled(count: number): Promise<void> | null {
    this.chunks.push(Buffer.from(this.#room.subarray(this.#held, this.#held + count)));
    this.#held += count;
    if (this.#held < this.#room.length) return null;
    this.#held = 0;
    return new Promise((resolve) => setImmediate(resolve));
  }

  get bytes(): Buffer {
    return Buffer.concat(this.chunks);
  }
}

const options = { idleMs: 10_000, signal: new AbortController().signal };

async function get(server: Awaited<ReturnType<typeof serve>>, size: number, sink: DirectSink, connections = new RawConnections(null)) {
  const { origin } = server;
  try {
    return await connections.get({ origin, path: '/a%20b?c', headers: { range: 'bytes=0-9' }, size, sink }, options);
  } finally {
    connections.close();
  }
}

it('puts an answer into the given memory, however the network splits it', async () => {
  const body = randomBytes(3_000_000);
  await using server = await serve((socket) => {
    const all = Buffer.concat([Buffer.from(plain(body.length)), body]);
    for (let at = 0; at < all.length; at += 70_001) socket.write(all.subarray(at, at + 70_001));
  });
  const sink = new Collector(100_000);
  expect(await get(server, body.length, sink)).toBe(true);
  expect(sink.bytes.equals(body)).toBe(true);
  expect(server.heads[0]).toMatch(
    /^GET \/a%20b\?c HTTP\/1\.1\r\nhost: 127\.0\.0\.1:\d+\r\nrange: bytes=0-9\r\nconnection: keep-alive\r\n\r\n$/,
  );
});

it('sends the next request on the same connection', async () => {
  await using server = await serve((socket, count) => socket.write(`${plain(3)}${'abcdef'.slice(0, 2)}${count}`));
  const connections = new RawConnections(null);
  const request = { origin: server.origin, path: '/', headers: {}, size: 3 };
  for (const expected of ['ab1', 'ab2', 'ab3']) {
    const sink = new Collector(1000);
    expect(await connections.get({ ...request, sink }, options)).toBe(true);
    expect(sink.bytes.toString()).toBe(expected);
  }
  connections.close();
  expect(server.sockets).toHaveLength(1);
});

it('sends no request on a connection that the server is about to close', async () => {
  await using server = await serve((socket) => socket.write('HTTP/1.1 206 P\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc'));
  const connections = new RawConnections(null);
  const request = { origin: server.origin, path: '/', headers: {}, size: 3 };
  for (let turn = 0; turn < 2; turn++) expect(await connections.get({ ...request, sink: new Collector(1000) }, options)).toBe(true);
  expect(server.sockets).toHaveLength(2);
});

it('never takes bytes after one answer for the next answer', async () => {
  await using server = await serve((socket, count) => socket.write(`${plain(3)}ab${count}`));
  const connections = new RawConnections(null);
  const request = { origin: server.origin, path: '/', headers: {}, size: 3 };
  expect(await connections.get({ ...request, sink: new Collector(1000) }, options)).toBe(true);
  server.sockets[0]?.write(`${plain(3)}bad`);
  await new Promise((resolve) => server.sockets[0]?.on('close', resolve));
  const sink = new Collector(1000);
  expect(await connections.get({ ...request, sink }, options)).toBe(true);
  expect(sink.bytes.toString()).toBe('ab2');
  connections.close();
});

it('drops a connection that the server has closed', async () => {
  await using server = await serve((socket) => socket.end(`${plain(3)}abc`));
  const connections = new RawConnections(null);
  const request = { origin: server.origin, path: '/', headers: {}, size: 3 };
  expect(await connections.get({ ...request, sink: new Collector(1000) }, options)).toBe(true);
  await new Promise((resolve) => server.sockets[0]?.on('close', resolve));
  await new Promise((resolve) => setImmediate(resolve));
  expect(await connections.get({ ...request, sink: new Collector(1000) }, options)).toBe(true);
  connections.close();
});

it.each([
  ['an error', 'HTTP/1.1 403 Forbidden\r\nContent-Length: 3\r\n\r\nabc'],
  ['a redirect', 'HTTP/1.1 307 Temporary\r\nContent-Length: 3\r\n\r\nabc'],
  ['another length', 'HTTP/1.1 206 P\r\nContent-Length: 4\r\n\r\nabcd'],
  ['no length', 'HTTP/1.1 200 OK\r\n\r\nabc'],
  ['an invalid length', 'HTTP/1.1 200 OK\r\nContent-Length: 3x\r\n\r\nabc'],
  ['pieces', 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n'],
  ['packed bytes', 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Encoding: gzip\r\n\r\nabc'],
  ['more than was promised', 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcd'],
  ['another protocol', 'SSH-2.0-OpenSSH\r\n\r\n'],
  ['a head without end', `HTTP/1.1 200 OK\r\n${'X: y\r\n'.repeat(10_000)}`],
])('%s is left to the ordinary client, and the sink gets nothing', async (_, answer) => {
  await using server = await serve((socket) => socket.write(answer));
  const sink = new Collector(1000);
  expect(await get(server, 3, sink)).toBe(false);
  expect(sink.chunks).toEqual([]);
});

it.each([
  ['before it begins', ''],
  ['in its head', 'HTTP/1.1 206 P\r\nContent-'],
  ['in its body', `${plain(1000)}abc`],
])('an answer that ends %s is a failure of the connection', async (_, answer) => {
  await using server = await serve((socket) => socket.end(answer));
  await expect(get(server, 1000, new Collector(1000))).rejects.toMatchObject({ code: 'ECONNRESET' });
});

it('a silent server fails the request after the idle time', async () => {
  await using server = await serve(() => {});
  const connections = new RawConnections(null);
  const request = { origin: server.origin, path: '/', headers: {}, size: 3, sink: new Collector(10) };
  await expect(connections.get(request, { ...options, idleMs: 50 })).rejects.toMatchObject({ code: 'ETIMEDOUT' });
});

it('an abort ends the request at once', async () => {
  const stop = new AbortController();
  await using server = await serve(() => stop.abort(new Error('enough')));
  const connections = new RawConnections(null);
  const request = { origin: server.origin, path: '/', headers: {}, size: 3, sink: new Collector(10) };
  await expect(connections.get(request, { ...options, signal: stop.signal })).rejects.toThrow('enough');
});

it('an error of the sink is reported', async () => {
  await using server = await serve((socket) => socket.write(`${plain(1_000_000)}${'x'.repeat(1_000_000)}`));
  const full = { room: () => Buffer.alloc(100_000), filled: () => Promise.reject(Object.assign(new Error('full'), { code: 'ENOSPC' })) };
  await expect(get(server, 1_000_000, full)).rejects.toMatchObject({ code: 'ENOSPC' });
});

it.each(['a\r\nb', 'ü', ''])('a header of %j is never sent', async (value) => {
  await using server = await serve(() => {});
  const request = { origin: server.origin, path: value === '' ? '/a b\n' : '/', headers: { x: value }, size: 3, sink: new Collector(10) };
  expect(await new RawConnections(null).get(request, options)).toBe(false);
  expect(server.heads).toEqual([]);
});
