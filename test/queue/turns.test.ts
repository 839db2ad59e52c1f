import { createServer, request } from 'node:http';
import { join } from 'node:path';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { realClock } from '../../src/core/clock.ts';
import type { Lease } from '../../src/queue/backend.ts';
import { QueueClient } from '../../src/queue/client/client.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { commitOf, itemsOf } from './drive.ts';
import { ServerProcess } from './processes.ts';

let folder: ReturnType<typeof tempFolder>;
let server: ServerProcess;
let client: QueueClient;

beforeEach(async () => {
  folder = tempFolder();
  server = await ServerProcess.start([`--db=${join(folder.path, 'queue.db')}`, '--listen=127.0.0.1:0', '--max-item=1KiB']);
  client = clientOf(server.url);
});
afterEach(async () => {
  client.close();
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

function clientOf(url: string): QueueClient {
  return new QueueClient({ url, token: null, clock: realClock, tries: 1 });
}

async function push(...keys: readonly string[]): Promise<void> {
  await client.upload(
    '/v1/queues/q/items',
    (async function* () {
      yield itemsOf(...keys)
        .map((item) => `${JSON.stringify(item)}\n`)
        .join('');
    })(),
  );
}

function worker(nth: number): object {
  return { id: `worker-${nth}-of-a-test`, node: 'n', process: `p${nth}` };
}

interface Answer {
  readonly leases: readonly Lease[];
  readonly commits: readonly { readonly verdict: string }[];
  readonly drained: boolean;
}

function turn(nth: number, parts: object): Promise<Answer> {
  return client.turn<Answer>('q', { session: worker(nth), ...parts });
}

/** Sends a text as a stream of turns, and reads until the server ends it or enough has come. */
function stream(text: string, isEnough: (answer: string) => boolean): Promise<string> {
  return new Promise((resolve) => {
    let answer = '';
    const sent = request(`${server.url}/v1/turns`, { method: 'POST' }, (response) => {
      response.setEncoding('utf8').on('data', (piece: string) => {
        answer += piece;
        if (isEnough(answer)) sent.destroy();
      });
      response.on('error', () => {}).on('close', () => resolve(answer));
    });
    sent.on('error', () => {});
    sent.write(text);
  });
}

describe('turns over one connection', () => {
  it('give every worker its own items, and each answer to its turn', async () => {
    const keys = Array.from({ length: 60 }, (_, n) => String(n));
    await push(...keys);
    const workers = Array.from({ length: 20 }, (_, nth) => nth);
    const first = await Promise.all(workers.map((nth) => turn(nth, { lease: { most: nth % 2 === 0 ? 2 : 1 } })));
    expect(first.map(({ leases }) => leases.length)).toEqual(workers.map((nth) => (nth % 2 === 0 ? 2 : 1)));
    const last = await Promise.all(
      workers.map((nth) => turn(nth, { commits: first[nth]?.leases.map((one) => commitOf(one, `"${nth}"`)), lease: { most: 5 } })),
    );
    expect(last.flatMap(({ commits }) => commits.map(({ verdict }) => verdict))).toEqual(Array.from({ length: 30 }, () => 'write'));
    const leased = [...first, ...last].flatMap(({ leases }) => leases.map(({ key }) => key));
    expect(leased.toSorted((a, b) => Number(a) - Number(b))).toEqual(keys);
  });

  it('tell an error to its turn alone, with its code', async () => {
    await push('1');
    const outcomes = await Promise.allSettled([
      turn(0, { lease: { most: -1 } }),
      client.turn('none', { session: worker(1), lease: { most: 1 } }),
      client.turn('a/b', { session: worker(1) }),
      turn(2, { commits: [{ item: 1, token: 1, generation: 1, result: `"${'x'.repeat(2000)}"` }] }),
      turn(3, { lease: { most: 1 } }),
    ]);
    expect(outcomes.map((one) => (one.status === 'rejected' ? (one.reason as { code: string }).code : 'ok'))).toEqual([
      'QUEUE_REQUEST_REFUSED',
      'QUEUE_UNKNOWN',
      'QUEUE_REQUEST_REFUSED',
      'QUEUE_REQUEST_REFUSED',
      'ok',
    ]);
  });

  it('go on after a server has ended, over a new connection', async () => {
    await push('1', '2');
    expect((await turn(0, { lease: { most: 1 } })).leases).toHaveLength(1);
    await server.end('SIGKILL');
    await expect(turn(0, { lease: { most: 1 } })).rejects.toMatchObject({ code: 'QUEUE_UNREACHABLE' });
    server = await ServerProcess.start([`--db=${join(folder.path, 'queue.db')}`, `--listen=${new URL(server.url).host}`]);
    expect((await turn(0, { lease: { most: 1 } })).leases).toHaveLength(1);
  });

  it('fail when their signal is aborted, and leave the others alone', async () => {
    await push('1');
    const gone = AbortSignal.abort(new Error('no longer wanted'));
    await expect(client.turn('q', { session: worker(0) }, gone)).rejects.toThrow('no longer wanted');
    expect((await turn(1, { lease: { most: 1 } })).leases).toHaveLength(1);
  });

  it('never wait for items', async () => {
    await push();
    expect(await turn(0, { lease: { most: 1 }, waitSeconds: 60 })).toMatchObject({ leases: [], drained: true });
    await push('1');
    await turn(0, { lease: { most: 1 } });
    expect(await turn(1, { lease: { most: 1 }, waitSeconds: 60 })).toMatchObject({ leases: [], drained: false });
  });

  it('are all answered before the end of a request whose client has no more', async () => {
    await push('1', '2');
    const lines = [0, 1, 2].map((nth) => JSON.stringify({ id: nth, queue: 'q', session: worker(nth), lease: { most: 1 } }));
    const answer = await fetch(`${server.url}/v1/turns`, { method: 'POST', body: lines.join('\n') });
    const leases = (await answer.text())
      .trim()
      .split('\n')
      .flatMap((line) => (JSON.parse(line) as Answer).leases);
    expect(leases.map(({ key }) => key).toSorted()).toEqual(['1', '2']);
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  });

  it('name a line that is no turn, and end at one that is too long', async () => {
    const isAnswered = (answer: string): boolean => answer.endsWith('\n') && answer.split('\n').length > 3;
    const answers = (await stream('{\n[]\n{"id":"x"}\n\n', isAnswered)).trim().split('\n');
    expect(answers.map((line) => JSON.parse(line) as object)).toEqual(
      Array.from({ length: 3 }, () => expect.objectContaining({ id: null, status: 400 }) as object),
    );
    expect(await stream(`${'x'.repeat(9 * 2 ** 20)}\n`, () => false)).toBe('');
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  });
});

it('turns go one by one to a server that does not know streams', async () => {
  const paths: string[] = [];
  const old = createServer((asked, response) => {
    paths.push(asked.url ?? '');
    const isTurn = asked.url === '/v1/queues/q/turn';
    response
      .writeHead(isTurn ? 200 : 404)
      .end(isTurn ? '{"leases":[]}' : '{"error":{"code":"QUEUE_REQUEST_REFUSED","message":"no","hint":null}}');
  });
  await new Promise<void>((resolve) => old.listen(0, '127.0.0.1', resolve));
  const asker = clientOf(`http://127.0.0.1:${(old.address() as AddressInfo).port}`);
  try {
    for (let nth = 0; nth < 2; nth++) expect(await asker.turn('q', { session: worker(0) })).toEqual({ leases: [] });
    expect(paths).toEqual(['/v1/turns', '/v1/queues/q/turn', '/v1/queues/q/turn']);
  } finally {
    asker.close();
    old.closeAllConnections();
    old.close();
  }
});
