import { once } from 'node:events';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { realClock } from '../../core/clock.ts';
import { serveStatus, type StatusServer, statusLimits } from './status-server.ts';

const NO_STATUS = (): never => {
  throw new Error('a health check of a run without a trainer needs more');
};

async function silentConnections(count: number, port: number): Promise<Socket[]> {
  const sockets = Array.from({ length: count }, () => connect(port, '127.0.0.1').on('error', () => {}));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  return sockets;
}

/** The status code of one probe, with a connection of its own. */
async function probe({ address: { port } }: StatusServer): Promise<number> {
  const asked = request({ port, host: '127.0.0.1', path: '/nothing', agent: false });
  asked.end();
  const [answer] = (await once(asked, 'response')) as [{ readonly statusCode: number; resume(): void }];
  answer.resume();
  return answer.statusCode;
}

it('the status port answers a probe at once, however many silent connections came before it', async () => {
  const server = await serveStatus({ host: '127.0.0.1', port: 0 }, NO_STATUS, realClock);
  const silent = await silentConnections(4 * statusLimits(Infinity).most, server.address.port);
  try {
    for (let round = 0; round < 5; round++) expect(await probe(server)).toBe(404);
  } finally {
    for (const socket of silent) socket.destroy();
    server.close();
  }
});
