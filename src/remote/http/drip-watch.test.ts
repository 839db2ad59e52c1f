import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setInterval } from 'node:timers';
import { describe, expect, it } from 'vitest';
import { realClock, VirtualClock } from '../../core/clock.ts';
import { createHttpClient } from './http-client.ts';
import { createRoutes } from './connect.ts';
import { untilDrips } from './drip-watch.ts';
import { RawConnections } from './raw-get.ts';

/** Forty drips: where a busy machine pauses for some, the answer is still not silent. */
const SHORT = { idleMs: 800, baseMs: 60_000, slowestBytesPerSecond: 1024 };

/** Promises a megabyte and sends one byte each fiftieth of a second. */
function drip(response: ServerResponse): void {
  response.writeHead(200, { 'content-length': '1048576' });
  const timer = setInterval(() => response.write('x'), 20);
  response.once('close', () => clearInterval(timer));
}

describe('an answer that is too slow', () => {
  it('aborts the request, although bytes keep arriving', async () => {
    await using server = createServer((_, response) => drip(response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const routes = createRoutes({});
    const origin = { protocol: 'http:', host: '127.0.0.1', port } as const;
    const { signal } = new AbortController();
    const send = createHttpClient(routes, realClock, SHORT).send({ method: 'GET', origin, path: '/', headers: {} }, signal);
    await expect(send).rejects.toMatchObject({ message: expect.stringContaining('is too slow') as string, isTransient: true });
    const raw = new RawConnections(null);
    const sink = { room: () => Buffer.alloc(65_536), filled: () => null };
    const got = raw.get({ origin, path: '/', headers: {}, size: 1_048_576, sink }, { idleMs: 200, signal });
    await expect(got).rejects.toMatchObject({ code: 'ETIMEDOUT' });
    raw.close();
    routes.close();
    server.closeAllConnections();
  });

  it('is not an answer that waits for its reader or one that makes progress', async () => {
    const clock = new VirtualClock();
    const arrived = { bytes: 0, isHeld: false };
    let isOver = false;
    const { signal } = new AbortController();
    void untilDrips({ clock, idleMs: 30_000, signal }, () => arrived).then(() => (isOver = true));
    for (const [bytes, isHeld, ends] of [
      [100_000, false, false],
      [0, true, false],
      [10, false, false],
      [0, true, false],
      [10, false, false],
      [10, false, true],
    ] as const) {
      arrived.bytes += bytes;
      arrived.isHeld = isHeld;
      await clock.advance(30_000);
      expect(isOver).toBe(ends);
    }
  });
});
