import { once } from 'node:events';
import { type RequestListener, createServer } from 'node:http';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { tempFolder } from '../../support/temp-folder.ts';
import { KubeApi } from './api.ts';

const QUICK = { tries: 3, pauseMs: 1 };
const POD = { metadata: { name: 'one', uid: '1' } };

/** What a server is asked that answers with these, one after the other: a status, or null when it hangs up without one. */
async function asked(
  answers: readonly (number | null)[],
  ask: (api: KubeApi) => Promise<unknown>,
): Promise<{ readonly methods: readonly string[]; readonly result: unknown }> {
  const methods: string[] = [];
  const result = await withServer(
    (request, response) => {
      const status = answers[methods.length];
      methods.push(request.method ?? '');
      if (typeof status !== 'number') request.socket.destroy();
      else response.writeHead(status).end(JSON.stringify(POD));
    },
    (socket) => ask(new KubeApi(socket, QUICK)).catch((thrown: unknown) => String(thrown)),
  );
  return { methods, result };
}

async function withServer<Value>(listener: RequestListener, use: (socket: string) => Promise<Value>): Promise<Value> {
  using folder = tempFolder();
  const socket = join(folder.path, 'api.sock');
  const server = createServer(listener).listen(socket);
  await once(server, 'listening');
  try {
    return await use(socket);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

it.each([
  ['an object', (api: KubeApi) => api.get('/pods/one'), POD],
  ['a log', (api: KubeApi) => api.text('/pods/one/log'), JSON.stringify(POD)],
])('%s is asked for again when the server is busy, fails or hangs up', async (_, ask, result) => {
  expect(await asked([429, 503, 200], ask)).toEqual({ methods: ['GET', 'GET', 'GET'], result });
  expect(await asked([null, 500, 200], ask)).toEqual({ methods: ['GET', 'GET', 'GET'], result });
});

it('a log that is refused is none, and is not asked for again', async () => {
  expect(await asked([400], (api) => api.text('/pods/one/log'))).toEqual({ methods: ['GET'], result: null });
});

it.each([
  ['POST', (api: KubeApi) => api.create('/pods', POD), POD],
  ['PATCH', (api: KubeApi) => api.patch('/pods/one', POD), POD],
  ['DELETE', (api: KubeApi) => api.remove('/pods/one'), undefined],
])('a %s is sent again when the server has turned it away, and not when it may have been done', async (method, ask, result) => {
  expect(await asked([429, 429, 200], ask)).toEqual({ methods: [method, method, method], result });
  expect(await asked([500, 200], ask)).toMatchObject({ methods: [method], result: expect.stringContaining('was answered with 500') });
  expect(await asked([null, 200], ask)).toMatchObject({ methods: [method], result: expect.stringMatching(/failed: .*hang up/) });
});

it('a server that stays busy is told as its last answer', async () => {
  const { methods, result } = await asked([429, 429, 429], (api) => api.create('/pods', POD));
  expect(methods).toHaveLength(QUICK.tries);
  expect(result).toMatch(/POST \/pods was answered with 429/);
});

it('a write waits for a server that is not there yet', async () => {
  using folder = tempFolder();
  const socket = join(folder.path, 'api.sock');
  await expect(new KubeApi(socket, { tries: 1 }).create('/pods', POD)).rejects.toThrow(/^POST \/pods failed: connect ENOENT/);
  const created = new KubeApi(socket, { tries: 10_000, pauseMs: 1 }).create('/pods', POD);
  // It has been sent once by then.
  for (let turn = 0; turn < 100; turn += 1) await nextTurn();
  const server = createServer((_, response) => response.writeHead(201).end(JSON.stringify(POD))).listen(socket);
  try {
    expect(await created).toEqual(POD);
  } finally {
    server.close();
  }
});

it('a server that takes a question and never answers is given up, and the question is named', async () => {
  const silent = withServer(
    () => {},
    (socket) => new KubeApi(socket, { tries: 2, pauseMs: 1, answerMs: 50 }).get('/pods/one'),
  );
  await expect(silent).rejects.toThrow('GET /pods/one was not answered within 0.05 s');
});

it('an answer that begins and does not end is given up too', async () => {
  const silent = withServer(
    (_, response) => void response.writeHead(200).write('{'),
    (socket) => new KubeApi(socket, { tries: 1, answerMs: 50 }).text('/pods/one/log'),
  );
  await expect(silent).rejects.toThrow('GET /pods/one/log was not answered within 0.05 s');
});

it('whether it is ready is answered at once, also where nobody is', async () => {
  using folder = tempFolder();
  expect(await new KubeApi(join(folder.path, 'api.sock')).isReady()).toBe(false);
  expect(await asked([503], (api) => api.isReady())).toEqual({ methods: ['GET'], result: false });
  expect(await asked([200], (api) => api.isReady())).toEqual({ methods: ['GET'], result: true });
});
