import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { realClock } from '../../core/clock.ts';
import { leaseTimes } from '../../domain/queue/lease-times.ts';
import type { QueueBackend, Turn } from '../backend.ts';
import { TurnDesk } from './turn-desk.ts';
import { TurnStream } from './turn-stream.ts';
import { Waiters } from './waiters.ts';
import { WeatherStation } from './weather-station.ts';

it('items that were leased for a client that has gone are given back', async () => {
  const [asked, answered, givenBack] = [Promise.withResolvers<void>(), Promise.withResolvers<void>(), Promise.withResolvers<Turn>()];
  const lease = { item: 7, token: 3, key: 'k', value: '1', generation: 1, progress: null, tries: 0 };
  const turns: QueueBackend['turns'] = async ([turn]) => {
    if (turn !== undefined && turn.releases.length > 0) givenBack.resolve(turn);
    asked.resolve();
    await answered.promise;
    return [{ commits: [], held: [], leases: turn?.lease === 1 ? [lease] : [], isDrained: false, isPaused: false }];
  };
  const [clock, waiters, weather] = [realClock, new Waiters(realClock), new WeatherStation()];
  const desk = new TurnDesk({ backend: { turns } as QueueBackend, clock, waiters, weather });
  const options = {
    desk,
    clock,
    limits: { itemLength: 100, bodyBytes: 1000 },
    times: leaseTimes(30_000),
    onTurn: () => {},
    onError: () => {},
  };
  const server = createServer((got, response) => {
    response.once('close', () => answered.resolve());
    new TurnStream(options, response).answer(got).catch(() => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = request({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', method: 'POST' }).on('error', () => {});
  const session = { id: 'a-session-of-a-test', node: 'n', process: 'p' };
  client.write(`${JSON.stringify({ id: 1, queue: 'q', session, lease: { most: 1 } })}\n`);
  await asked.promise;
  client.destroy();
  expect(await givenBack.promise).toMatchObject({ queue: 'q', session, releases: [{ item: 7, token: 3, spentMs: 0 }] });
  server.close();
});
