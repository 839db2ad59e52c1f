import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../core/clock.ts';
import { QueueClient } from './client.ts';

/** Asks a server that answers each request in turn. */
async function ask(answers: readonly ((response: ServerResponse) => void)[], tries: number) {
  const clock = new VirtualClock();
  let asked = 0;
  const server = createServer((_, response) => {
    answers[asked]?.(response);
    asked += 1;
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = new QueueClient({ url, token: null, clock, tries });
  const settled = new AbortController();
  const answer = client
    .json('GET', '/v1/queues/q')
    .catch((thrown: unknown) => thrown)
    .finally(() => settled.abort());
  while (!settled.signal.aborted) {
    // The client pauses before it asks again.
    await clock.advance(1000);
    await nextTurn();
  }
  client.close();
  server.close();
  return { outcome: await answer, asked };
}

const whole = (response: ServerResponse): void => void response.end('{"done":3}');
const cut = (response: ServerResponse): void => {
  response.writeHead(200, { 'content-length': 100 });
  response.write('{"done":', () => response.destroy());
};

describe('an answer of a queue server', () => {
  it('that breaks off is asked for again', async () => {
    expect(await ask([cut, cut, whole], 3)).toEqual({ outcome: { done: 3 }, asked: 3 });
  });

  it('that always breaks off is an error with a code', async () => {
    expect(await ask([cut], 1)).toMatchObject({ outcome: { code: 'QUEUE_UNREACHABLE' }, asked: 1 });
  });

  it('that is no JSON names another program at this address', async () => {
    const { outcome } = await ask([(response) => void response.end('<html>')], 1);
    expect(outcome).toMatchObject({ code: 'QUEUE_REQUEST_REFUSED', hint: 'Another program may listen at this address.' });
  });
});
