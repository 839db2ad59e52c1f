import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, it } from 'vitest';
import { bash, LAUNCHER } from './support/run-process.ts';

/** Every command that reads standard input, apart from queues, which send it on as it comes. */
const READERS = ['lint -', 'adopt -f -', 'why -f -', 'grace -f -'];

it.each(READERS)('holdfast %s ends at the first SIGTERM while its standard input never ends', async (line) => {
  const child = spawn(LAUNCHER, line.split(' '), { stdio: ['pipe', 'ignore', 'ignore'] });
  const closed = once(child, 'close');
  child.stdin.on('error', () => {});
  // More than a pipe holds: when all of it is written, the command reads.
  await new Promise((resolve) => child.stdin.write('#'.repeat(1024 * 1024), resolve));
  child.kill('SIGTERM');
  expect((await closed)[0]).toBe(143);
});

it.each(READERS)('holdfast %s refuses standard input without an end', async (line) => {
  const { code } = await bash(`"${LAUNCHER}" ${line} < /dev/zero`);
  expect([2, 65, 66]).toContain(code);
});

it('holdfast queue push - ends at the first SIGTERM while its standard input is silent', async () => {
  const server = createServer((socket) => socket.resume()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `--url=http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const child = spawn(LAUNCHER, ['queue', 'push', 'images', '-', url], { stdio: ['pipe', 'ignore', 'ignore'] });
  const closed = once(child, 'close');
  await once(server, 'connection');
  child.kill('SIGTERM');
  expect((await closed)[0]).toBe(143);
  server.close();
});
