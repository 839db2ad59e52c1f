import { connect } from 'node:net';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tempFolder } from '../support/temp-folder.ts';
import { pythonWorker, queueCommand, type Running, ServerProcess } from './processes.ts';

const OWNER = 'owner-token-of-a-test';
const WORKER = 'worker-token-of-a-test';

let folder: ReturnType<typeof tempFolder>;
let server: ServerProcess;

beforeEach(() => {
  folder = tempFolder();
});
afterEach(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

async function serve(...args: readonly string[]): Promise<ServerProcess> {
  server = await ServerProcess.start([`--db=${join(folder.path, 'queue.db')}`, '--listen=127.0.0.1:0', ...args]);
  return server;
}

async function post(path: string, body: string | object, headers: Record<string, string> = {}): Promise<{ status: number; text: string }> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const response = await fetch(`${server.url}${path}`, { method: 'POST', body: text, headers });
  return { status: response.status, text: await response.text() };
}

const SESSION = { id: 'a-session-of-a-test', node: 'n', process: 'p' };

describe('a server of queues', () => {
  it('wants a token where others can reach it, and tells workers from owners', async () => {
    await expect(ServerProcess.start([`--db=${join(folder.path, 'open.db')}`, '--listen=0.0.0.0:0'])).rejects.toThrow(
      'QUEUE_ADDRESS_REFUSED',
    );
    writeFileSync(join(folder.path, 'owner'), `${OWNER}\n`);
    writeFileSync(join(folder.path, 'worker'), `${WORKER}\n`);
    await serve(`--token-file=${join(folder.path, 'owner')}`, `--worker-token-file=${join(folder.path, 'worker')}`);
    const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
    const item = '{"key":"1","value":"1"}\n';
    expect((await post('/v1/queues/q/items', item)).status).toBe(401);
    expect((await post('/v1/queues/q/items', item, bearer('wrong-token-of-a-test'))).status).toBe(401);
    expect((await post('/v1/queues/q/items', item, bearer(WORKER))).text).toContain('only an owner');
    expect((await post('/v1/queues/q/items', item, bearer(OWNER))).status).toBe(200);
    expect((await post('/v1/queues/q/turn', { session: SESSION, lease: { most: 1 } }, bearer(WORKER))).text).toContain('"key":"1"');
    const get = async (path: string): Promise<number> => (await fetch(`${server.url}${path}`, { headers: bearer(WORKER) })).status;
    // A scaler reads the counts with the token of a worker; values and results are the owner's.
    expect([await get('/v1/queues/q'), await get('/metrics')]).toEqual([200, 200]);
    for (const path of ['items/1', 'results', 'failed']) expect(await get(`/v1/queues/q/${path}`)).toBe(401);
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    expect((await fetch(`${server.url}/metrics`)).status).toBe(401);
    const refused = await queueCommand(server.url, ['status', 'q']);
    expect([refused.code, refused.stderr]).toEqual([66, expect.stringContaining('QUEUE_TOKEN_REFUSED')]);
  });

  it('without a token answers no page of the web that found it under another name', async () => {
    await serve();
    // fetch does not let the caller choose the Host header.
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    socket.write('GET /v1/queues HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n');
    let answer = '';
    for await (const piece of socket) answer += String(piece);
    expect(answer).toMatch(/^HTTP\/1.1 403 /);
  });

  it('refuses what breaks the protocol with the rule, and goes on', async () => {
    await serve('--max-item=1KiB');
    await post('/v1/queues/q/items', '{"key":"1","value":"1"}\n');
    const turn = (body: object): Promise<{ status: number; text: string }> => post('/v1/queues/q/turn', body);
    expect((await post('/v1/queues/q/turn', '{')).status).toBe(400);
    expect((await turn({ session: SESSION, lease: { most: -1 } })).text).toContain('most');
    expect((await turn({ session: { id: 'x' } })).status).toBe(400);
    expect((await turn({ session: SESSION, commits: [{ item: 1, token: 1, generation: 1, result: 'no JSON' }] })).text).toContain(
      'not JSON',
    );
    expect(
      (await turn({ session: SESSION, commits: [{ item: 1, token: 1, generation: 1, result: `"${'x'.repeat(2000)}"` }] })).status,
    ).toBe(413);
    const giant = { item: 1, token: 2 ** 40, generation: 1, result: '1' };
    expect((await turn({ session: SESSION, commits: [giant] })).text).toContain('"token\\" is not a whole number');
    expect((await turn({ session: SESSION, commits: [{ ...giant, token: 1, item: 2 ** 53 - 1 }] })).text).toContain('fenced');
    expect((await post('/v1/queues/q/turn', `{"session":${'['.repeat(100_000)}`)).status).toBe(400);
    expect((await post('/v1/queues/a%2fb/turn', {})).status).toBe(400);
    expect((await post('/v1/queues/none/turn', { session: SESSION, lease: { most: 1 } })).status).toBe(404);
    expect((await fetch(`${server.url}/v1/nothing`)).status).toBe(404);
    expect((await fetch(`${server.url}/v1/queues`, { method: 'DELETE' })).status).toBe(405);
    expect((await turn({ session: SESSION, lease: { most: 1 } })).text).toContain('"key":"1"');
  });

  it('names each wrong line of a push and takes the others', async () => {
    await serve('--max-item=1KiB');
    const lines = [
      '{"key":"1","value":"1"}',
      '{',
      '{"key":"2"}',
      '{"key":"1","value":"2"}',
      `{"key":"3","value":"\\"${'x'.repeat(2000)}\\""}`,
      '{"key":"4","value":"4"}',
    ];
    const { text } = await post('/v1/queues/q/items', `${lines.join('\n')}\n${'y'.repeat(100_000)}\n{"key":"5","value":"5"}`);
    const { added, refused } = JSON.parse(text) as { added: number; refused: { line: number; reason: string }[] };
    expect([added, refused.map(({ line }) => line).toSorted()]).toEqual([3, [2, 3, 4, 5, 7]]);
  });

  it('closes silent connections above its limit, and answers a probe', async () => {
    await serve('--connections=600');
    const { hostname, port } = new URL(server.url);
    const dial = () => connect(Number(port), hostname).on('error', () => {});
    const sockets = Array.from({ length: 1000 }, dial);
    // The server closes a connection above the limit at once.
    let closed = 0;
    await new Promise<void>((resolve) => {
      for (const socket of sockets) socket.resume().once('close', () => (++closed === 400 ? resolve() : undefined));
    });
    // The connections stay silent, and the server still answers a probe.
    for (let round = 0; round < 5; round++)
      expect((await fetch(`${server.url}/healthz`, { headers: { connection: 'close' } })).status).toBe(200);
    for (const socket of sockets) socket.destroy();
  });
});

describe('a worker', () => {
  it('gives everything back at once at SIGTERM, and what it has finished stands', async () => {
    await serve();
    await queueCommand(server.url, ['push', 'q', '-', '--key=n'], Array.from({ length: 50 }, (_, n) => `{"n":${n}}\n`).join(''));
    await using worker = pythonWorker(
      server.url,
      'import holdfast, time\nfor item in holdfast.work("q"):\n  print(item.key, flush=True)\n  time.sleep(0.05)\n  item.done(1)\n',
    );
    await printed(worker, 5);
    await worker.end('SIGTERM');
    expect(await worker.ended).toBe(143);
    const { stdout } = await queueCommand(server.url, ['status', 'q', '--json']);
    const { counts, lost } = JSON.parse(stdout) as { counts: Record<string, number>; lost: number };
    expect([counts['leased'], lost, counts['done']]).toEqual([0, 0, worker.stdout.trim().split('\n').length]);
  });

  it('tells an exception of its item, which fails after three tries, and with a block goes on', async () => {
    await serve();
    await queueCommand(server.url, ['push', 'q', '-', '--key=n'], '{"n":0}\n{"n":1}\n');
    await using first = pythonWorker(
      server.url,
      'import holdfast\nfor item in holdfast.work("q"):\n  1 / item.value["n"]\n  item.done(1)\n',
    );
    expect(await first.ended).toBe(1);
    await using second = pythonWorker(
      server.url,
      'import holdfast\nfor item in holdfast.work("q"):\n  with item: item.done(1 / item.value["n"])\n',
    );
    expect([await second.ended, second.stderr]).toEqual([0, '']);
    const { stdout } = await queueCommand(server.url, ['show', 'q', '0', '--json']);
    const story = JSON.parse(stdout) as { state: string; history: { end: string; detail: string }[] };
    expect(story.state).toBe('failed');
    expect(story.history.map(({ end }) => end)).toEqual(['failed', 'failed', 'failed']);
    expect(story.history[0]?.detail).toContain('ZeroDivisionError');
    expect((await queueCommand(server.url, ['wait', 'q'])).code).toBe(1);
  });

  it('that hears a notice in a long item leaves its progress to the next worker, and no try is counted', async () => {
    await serve();
    await queueCommand(server.url, ['push', 'q', '-', '--key=n'], '{"n":1}\n');
    const script = `import holdfast, time
for item in holdfast.work("q"):
  if item.state is None:
    print("begun", flush=True)
    while not item.stopping: time.sleep(0.02)
    item.progress({"row": 7})
  else: item.done(item.state)
`;
    await using worker = pythonWorker(server.url, script);
    await printed(worker, 1);
    worker.signal('SIGTERM');
    expect([await worker.ended, worker.stderr]).toEqual([143, '']);
    await using next = pythonWorker(server.url, script);
    expect([await next.ended, next.stderr]).toEqual([0, '']);
    const story = JSON.parse((await queueCommand(server.url, ['show', 'q', '1', '--json'])).stdout) as object;
    expect(story).toMatchObject({
      tries: 0,
      deaths: 0,
      history: [{ end: 'interrupted', detail: 'SIGTERM' }],
      results: [{ result: '{"row":7}' }],
    });
  });

  it('writes big results first, and works in batches', async () => {
    await serve();
    await queueCommand(server.url, ['push', 'q', '-', '--key=n'], Array.from({ length: 40 }, (_, n) => `{"n":${n}}\n`).join(''));
    const script = `import holdfast
for items in holdfast.work("q", batch=8, store=${JSON.stringify(join(folder.path, 'out'))}):
  assert len(items) <= 8
  for item in items: item.done(item.save(str(item.value["n"]).encode() * 1000, ".bin"))
`;
    await using worker = pythonWorker(server.url, script);
    expect([await worker.ended, worker.stderr]).toEqual([0, '']);
    const { stdout } = await queueCommand(server.url, ['results', 'q']);
    const results = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { key: string; result: { ref: string; bytes: number } });
    expect(results).toHaveLength(40);
    for (const { key, result } of results) expect(readFileSync(new URL(result.ref), 'utf8')).toBe(key.repeat(1000));
  });

  it('in any language finishes its item within the grace, and a program that dies costs a try', async () => {
    await serve();
    await queueCommand(server.url, ['push', 'q', '-', '--key=n'], Array.from({ length: 6 }, (_, n) => `{"n":${n}}\n`).join(''));
    const program = `
import json, sys
for line in sys.stdin:
  item = json.loads(line)
  if item["value"]["n"] == 3 and item["progress"] is None:
    print(json.dumps({"progress": "seen"}), flush=True)
    sys.exit(7)
  print(json.dumps({"result": [item["key"], item["token"]]}), flush=True)
`;
    const { code, stderr } = await queueCommand(server.url, ['work', 'q', '--', 'python3', '-c', program]);
    expect([code, stderr]).toEqual([0, '6 items done, 1 failed, 0 given back\n']);
    const story = JSON.parse((await queueCommand(server.url, ['show', 'q', '3', '--json'])).stdout) as {
      results: { result: string }[];
      history: { detail: string }[];
    };
    expect([story.results[0]?.result, story.history[0]?.detail]).toEqual(['["3",2]', 'the program ended with exit code 7']);
  });
});

describe('a program of another language', () => {
  it('that prints its input instead of an answer costs each item its tries, and the worker ends', async () => {
    await serve('--tries=1');
    await queueCommand(server.url, ['push', 'q', '-', '--key=n'], '{"n":0}\n{"n":1}\n');
    const { code, stderr } = await queueCommand(server.url, ['work', 'q', '--', 'cat']);
    expect([code, stderr]).toEqual([0, '0 items done, 2 failed, 0 given back\n']);
    const { stdout } = await queueCommand(server.url, ['failed', 'q']);
    expect(stdout).toContain('the program printed a line that is not an answer: {"key":"0"');
  });
});

describe('values and results', () => {
  const ECHO = [
    '--',
    'python3',
    '-c',
    'import sys\nfor line in sys.stdin: print(\'{"result":\' + line.split(\'"value":\')[1].split(\',"token"\')[0] + "}", flush=True)',
  ];

  it('reach a program of another language in one line, and come back with every digit', async () => {
    await serve();
    const values = ['[\n1,\r\n2]', '9007199254740993', '1e400', '1.10', '{"__proto__":{"a":1}}', '"\\ud800\\n"', '"\u2028"'];
    await post('/v1/queues/q/items', values.map((value, n) => `${JSON.stringify({ key: `k${n}`, value })}\n`).join(''));
    const { code, stderr } = await queueCommand(server.url, ['work', 'q', ...ECHO]);
    expect([code, stderr]).toEqual([0, `${values.length} items done, 0 failed, 0 given back\n`]);
    const { stdout } = await queueCommand(server.url, ['results', 'q']);
    const results = stdout
      .trim()
      .split('\n')
      .map((line) => line.slice(line.indexOf('"result":') + 9, -1));
    expect(results).toEqual(['[1,2]', ...values.slice(1)]);
  });

  it('with line breaks between their tokens are printed in one line', async () => {
    await serve();
    await post('/v1/queues/q/items', '{"key":"1","value":"1"}\n');
    const { text } = await post('/v1/queues/q/turn', { session: SESSION, lease: { most: 1 } });
    const [given] = (JSON.parse(text) as { leases: { item: number; token: number; generation: number }[] }).leases;
    const result = '{\n  "a": 1\n}';
    await post('/v1/queues/q/turn', { session: SESSION, commits: [{ item: given?.item, token: given?.token, generation: 1, result }] });
    const { stdout } = await queueCommand(server.url, ['results', 'q']);
    expect(stdout).toBe('{"key":"1","generation":1,"result":{   "a": 1 }}\n');
  });

  it('that Python cannot read fail their item, and the worker goes on', async () => {
    await serve('--tries=1');
    const values = ['1'.repeat(5000), '['.repeat(100_000) + ']'.repeat(100_000), '1'];
    await post('/v1/queues/q/items', values.map((value, n) => `${JSON.stringify({ key: `k${n}`, value })}\n`).join(''));
    await using worker = pythonWorker(server.url, 'import holdfast\nfor item in holdfast.work("q"): item.done(item.value)\n');
    expect([await worker.ended, worker.stderr]).toEqual([0, '']);
    const { counts } = JSON.parse((await queueCommand(server.url, ['status', 'q', '--json'])).stdout) as { counts: Record<string, number> };
    expect(counts).toMatchObject({ failed: 2, done: 1 });
    const { stdout } = await queueCommand(server.url, ['failed', 'q']);
    expect(stdout).toContain('cannot be read');
  });

  it('of a megabyte each are handed in by one worker, as fast as it has them', async () => {
    await serve();
    await queueCommand(server.url, ['push', 'q', '-', '--key=n'], Array.from({ length: 30 }, (_, n) => `{"n":${n}}\n`).join(''));
    const script = 'import holdfast\nfor items in holdfast.work("q", batch=30):\n  for item in items: item.done("x" * 1_000_000)\n';
    await using worker = pythonWorker(server.url, script);
    expect([await worker.ended, worker.stderr]).toEqual([0, '']);
    expect((await queueCommand(server.url, ['wait', 'q'])).code).toBe(0);
  });

  it('that are too large fail their item and name the limit, and the worker goes on', async () => {
    await serve('--max-item=1KiB', '--tries=1');
    await queueCommand(server.url, ['push', 'q', '-', '--key=n'], '{"n":0}\n{"n":1}\n');
    const script =
      'import holdfast\nfor item in holdfast.work("q"):\n  with item: item.done("x" * (5000 if item.value["n"] == 0 else 5))\n';
    await using worker = pythonWorker(server.url, script);
    expect([await worker.ended, worker.stderr]).toEqual([0, '']);
    const story = JSON.parse((await queueCommand(server.url, ['show', 'q', '0', '--json'])).stdout) as { state: string; history: object[] };
    expect(story).toMatchObject({ state: 'failed', history: [{ detail: expect.stringContaining('at most 1024') as unknown }] });
    expect((await queueCommand(server.url, ['results', 'q'])).stdout).toContain('"key":"1"');
  });
});

describe('wait', () => {
  it('ends with 1 if items were cancelled, and names the command that brings them back', async () => {
    await serve();
    await queueCommand(server.url, ['push', 'q', '-', '--key=n'], '{"n":1}\n');
    expect((await queueCommand(server.url, ['wait', 'q', '--timeout=0s'])).code).toBe(75);
    expect((await queueCommand(server.url, ['cancel', 'q'])).code).toBe(0);
    const { code, stderr } = await queueCommand(server.url, ['wait', 'q']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('holdfast queue retry q --cancelled')]);
    expect((await queueCommand(server.url, ['retry', 'q', '--cancelled'])).stderr).toContain('1 item ready again');
  });
});

/** Waits until the worker has printed this many lines. */
async function printed(worker: Running, lines: number): Promise<void> {
  while (worker.stdout.split('\n').length <= lines && !worker.hasEnded)
    await new Promise((resolve) => worker.child.stdout?.once('data', resolve));
}
