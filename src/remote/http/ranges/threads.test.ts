import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { makeCertificates, startTlsFront, whyNoCertificates } from '../../../../test/object-stores/tls.ts';
import { plainHead, serve } from '../../../../test/support/raw-server.ts';
import { tempFolder } from '../../../../test/support/temp-folder.ts';
import { crc32c, hex32 } from '../../../core/checksums.ts';
import { PART_BYTES } from '../../../seal/manifest.ts';
import { RangeThreads } from './threads.ts';

const OFFSET = 1000;
const idleMs = 60_000;

/** Threads, a file for them, and a server with scripted answers. */
async function setUp(folder: string, answer: (socket: Socket, count: number) => void) {
  const server = await serve(answer);
  const path = join(folder, 'file');
  const handle: FileHandle = await open(path, 'w+');
  const threads = new RangeThreads(2);
  const told = { bytes: 0 };
  return {
    path,
    threads,
    told,
    get: (size: number, { signal = new AbortController().signal, fd = handle.fd } = {}) =>
      threads.get(
        { origin: server.origin, path: '/', headers: {}, size, fd, offset: OFFSET, partBytes: PART_BYTES },
        { idleMs, signal, onBytes: (bytes) => void (told.bytes += bytes) },
      ),
    async [Symbol.asyncDispose]() {
      threads.close();
      await handle.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

it('an answer is written to its place in the file, and its parts are summed', async () => {
  using folder = tempFolder();
  const body = randomBytes(PART_BYTES + 1_234_567);
  await using way = await setUp(folder.path, (socket) => {
    socket.write(plainHead(body.length));
    socket.write(body);
  });
  const parts = [body.subarray(0, PART_BYTES), body.subarray(PART_BYTES)];
  expect(await way.get(body.length)).toEqual(parts.map((part) => hex32(crc32c(part))));
  expect(way.told.bytes).toBe(body.length);
  expect(readFileSync(way.path).subarray(OFFSET).equals(body)).toBe(true);
});

it('an answer other than the plain one is reported as such, and nothing is written', async () => {
  using folder = tempFolder();
  await using way = await setUp(folder.path, (socket) => socket.write('HTTP/1.1 403 Forbidden\r\nContent-Length: 3\r\n\r\nabc'));
  expect(await way.get(3)).toBeNull();
  expect(readFileSync(way.path)).toHaveLength(0);
});

it('a broken connection has the same error code as without threads', async () => {
  using folder = tempFolder();
  await using way = await setUp(folder.path, (socket) => socket.end(`${plainHead(1000)}abc`));
  await expect(way.get(1000)).rejects.toMatchObject({ code: 'ECONNRESET' });
});

it('a file that cannot be written is an error, even when only its last block fails', async () => {
  using folder = tempFolder();
  await using way = await setUp(folder.path, (socket) => socket.write(`${plainHead(3)}abc`));
  await using unwritable = await open(way.path, 'r');
  await expect(way.get(3, { fd: unwritable.fd })).rejects.toMatchObject({ code: 'EBADF' });
});

it('an aborted request ends with the reason of its signal, while others continue', async () => {
  using folder = tempFolder();
  const stop = new AbortController();
  await using way = await setUp(folder.path, (socket, count) => {
    if (count === 1) stop.abort(new Error('enough'));
    else socket.write(`${plainHead(3)}abc`);
  });
  await expect(way.get(3, { signal: stop.signal })).rejects.toThrow('enough');
  expect(await way.get(3)).toHaveLength(1);
});

it('requests of a thread that ended are rejected instead of waiting', async () => {
  using folder = tempFolder();
  await using way = await setUp(folder.path, () => way.threads.close());
  await expect(way.get(3)).rejects.toMatchObject({ code: 'INTERNAL' });
});

it.skipIf(whyNoCertificates() !== null)(
  'a file that cannot be written over TLS is an error too, and the thread continues with other requests',
  async () => {
    using folder = tempFolder();
    const body = randomBytes(8 * 1024 * 1024);
    await using server = await serve((socket) => {
      socket.write(plainHead(body.length));
      socket.write(body);
    });
    const certificates = makeCertificates(folder.path, '127.0.0.1');
    await using front = await startTlsFront(server.origin.port, certificates);
    await using writable = await open(join(folder.path, 'file'), 'w+');
    await using unwritable = await open(join(folder.path, 'file'), 'r');
    const threads = new RangeThreads(1);
    threads.trust([readFileSync(certificates.authority, 'utf8')]);
    const origin = { protocol: 'https:', host: '127.0.0.1', port: front.port } as const;
    const get = (fd: number) =>
      threads.get(
        { origin, path: '/', headers: {}, size: body.length, fd, offset: 0, partBytes: PART_BYTES },
        { idleMs, signal: new AbortController().signal, onBytes: () => {} },
      );
    const told = expect(get(unwritable.fd)).rejects.toMatchObject({ code: 'EBADF' });
    expect(await get(writable.fd)).toEqual([hex32(crc32c(body))]);
    await told;
    threads.close();
  },
);

it('threads that started before the certificates were known trust them later', async (context) => {
  const why = whyNoCertificates();
  context.skip(why !== null, why ?? '');
  using folder = tempFolder();
  await using server = await serve((socket) => socket.write(`${plainHead(3)}abc`));
  const certificates = makeCertificates(folder.path, '127.0.0.1');
  await using front = await startTlsFront(server.origin.port, certificates);
  await using file = await open(join(folder.path, 'file'), 'w+');
  const threads = new RangeThreads(1);
  threads.warm();
  threads.trust([readFileSync(certificates.authority, 'utf8')]);
  const origin = { protocol: 'https:', host: '127.0.0.1', port: front.port } as const;
  const request = { origin, path: '/', headers: {}, size: 3, fd: file.fd, offset: 0, partBytes: PART_BYTES };
  expect(await threads.get(request, { idleMs, signal: new AbortController().signal, onBytes: () => {} })).toHaveLength(1);
  threads.close();
});
