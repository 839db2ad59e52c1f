import { connect } from 'node:net';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { descriptorLimit } from '../../src/core/descriptor-limit.ts';
import { mountTmpfs, whyNoMounts } from '../support/mounts.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { pythonWorker, queueCommand, ServerProcess } from './processes.ts';

/** The most memory of a server, whatever its clients send. */
const MOST_MIB = 300;

let folder: ReturnType<typeof tempFolder>;
let server: ServerProcess;

beforeEach(() => {
  folder = tempFolder();
});
afterEach(async () => {
  await server?.[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

async function serve(...args: readonly string[]): Promise<void> {
  server = await ServerProcess.start([`--db=${join(folder.path, 'queue.db')}`, '--listen=127.0.0.1:0', ...args]);
}

function queue(...args: readonly string[]): ReturnType<typeof queueCommand> {
  return queueCommand(server.url, args);
}

/** Pushes items with the keys 0 to count - 1. */
async function pushNumbers(count: number): Promise<void> {
  const lines = Array.from({ length: count }, (_, n) => `{"n":${n}}\n`).join('');
  expect((await queueCommand(server.url, ['push', 'images', '-', '--key=n'], lines)).code).toBe(0);
}

function memoryMib(): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.child.pid ?? 0}/status`, 'utf8'))?.[1] ?? Infinity) / 1024;
}

/** The output of a start that fails. */
async function refusedStart(db: string): Promise<string> {
  return ServerProcess.start([`--db=${db}`, '--listen=127.0.0.1:0']).then(
    async (started) => {
      await started[Symbol.asyncDispose]();
      throw new Error('the server started');
    },
    (error: Error) => error.message,
  );
}

describe('bad input', () => {
  it('a push names each large, repeated and broken line by its number, adds the others and exits with 1', async () => {
    await serve('--max-item=1KiB');
    const lines = ['{"id":1}', '{"id":1,"v":2}', '{"id":', `{"id":3,"v":"${'x'.repeat(2000)}"}`, '{"v":4}', '[5]', '{"id":6}'];
    const file = join(folder.path, 'items.jsonl');
    writeFileSync(file, `${lines.join('\n')}\n`);
    const { code, stdout, stderr } = await queue('push', 'images', file, '--key=id', '--json');
    expect(code).toBe(1);
    expect(JSON.parse(stderr)).toMatchObject({
      error: { code: 'QUEUE_ITEMS_REFUSED', message: '5 items not pushed into images; the others were' },
    });
    const report = JSON.parse(stdout) as { added: number; refusedCount: number; refused: { line: number; reason: string }[] };
    expect([report.added, report.refusedCount]).toEqual([2, 5]);
    expect(Object.fromEntries(report.refused.map(({ line, reason }) => [line, reason]))).toEqual({
      2: 'the key is in the queue with another value',
      3: 'the line is not JSON',
      4: expect.stringContaining('1024') as unknown,
      5: expect.stringContaining('"id"') as unknown,
      6: expect.stringContaining('"id"') as unknown,
    });
    expect(JSON.parse((await queue('show', 'images', '1', '--json')).stdout)).toMatchObject({ value: '{"id":1}' });
  });

  it('a push of a pattern that no file matches is an error, so that no script waits for an empty queue', async () => {
    await serve();
    const pattern = join(folder.path, 'photos/*.jpg');
    const { code, stderr } = await queue('push', 'images', `--glob=${pattern}`);
    expect({ code, stderr }).toMatchObject({
      code: 66,
      stderr: expect.stringContaining(`PATH_NOT_FOUND: no file matches --glob=${pattern}`),
    });
    writeFileSync(join(folder.path, 'one.jpg'), '');
    expect((await queue('push', 'images', `--glob=${join(folder.path, '*.jpg')}`)).stderr).toContain('1 item added');
  });

  it('every command names a queue that is not there, and suggests the one that is meant', async () => {
    await serve();
    await pushNumbers(1);
    const verbs = ['status', 'results', 'wait', 'failed', 'retry', 'cancel', 'drop', 'pause', 'resume'].map((verb) => [verb, 'imags']);
    const ended = await Promise.all(
      [...verbs, ['show', 'imags', '0'], ['work', 'imags', '--grace=1h', '--', 'cat']].map(async (args) => ({
        args,
        ...(await queue(...args)),
      })),
    );
    for (const { args, code, stderr } of ended) {
      expect([args, code, stderr]).toEqual([
        args,
        66,
        expect.stringContaining('error QUEUE_UNKNOWN: there is no queue "imags". Did you mean images?'),
      ]);
    }
  });

  it('a server refuses a database of a newer version, of another program, or none, without a stack trace', async () => {
    const newer = join(folder.path, 'newer.db');
    server = await ServerProcess.start([`--db=${newer}`, '--listen=127.0.0.1:0']);
    await server.end('SIGTERM');
    using file = new DatabaseSync(newer);
    file.exec('PRAGMA user_version = 99');
    file.close();
    writeFileSync(join(folder.path, 'text.db'), 'a text that is long enough to be read as a database '.repeat(40));
    mkdirSync(join(folder.path, 'folder.db'));
    const rows = { 'newer.db': 'QUEUE_DATABASE_VERSION', 'text.db': 'QUEUE_DATABASE_FOREIGN', 'folder.db': 'QUEUE_DATABASE_FAILED' };
    for (const [name, code] of Object.entries(rows)) {
      const said = await refusedStart(join(folder.path, name));
      expect(said).toContain(`error ${code}: `);
      expect(said).not.toMatch(/\n\s+at /);
    }
  });

  it('workers and commands end with the reason if their token is wrong, and keep nothing', async () => {
    for (const name of ['right', 'wrong']) writeFileSync(join(folder.path, name), `${name}-token-of-a-test\n`);
    await serve(`--token-file=${join(folder.path, 'right')}`);
    const wrong = `--token-file=${join(folder.path, 'wrong')}`;
    const refused = [['status'], ['push', 'images', '-'], ['work', 'images', wrong, '--grace=1h', '--', 'cat']];
    const ended = await Promise.all(refused.map((args) => queue(...args, ...(args.includes(wrong) ? [] : [wrong]))));
    for (const { code, stderr } of ended) {
      expect([code, stderr]).toEqual([66, expect.stringContaining('error QUEUE_TOKEN_REFUSED: the server does not know this token')]);
    }
    const environment = { HOLDFAST_QUEUE_TOKEN_FILE: join(folder.path, 'wrong') };
    await using worker = pythonWorker(server.url, 'import holdfast\nfor item in holdfast.work("images"): pass\n', environment);
    expect(await worker.ended).toBe(1);
    expect(worker.stderr).toContain('the server does not know this token');
  });

  it('10,000 silent connections and a body that never ends cost little memory, and workers go on', async () => {
    await serve();
    await pushNumbers(100);
    const { hostname, port } = new URL(server.url);
    const dial = () => connect(Number(port), hostname).on('error', () => {});
    const sockets = Array.from({ length: Math.min(10_000, descriptorLimit() - 500) }, dial);
    await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once('connect', resolve).once('close', resolve))));
    const endless = dial();
    endless.write('POST /v1/queues/images/items HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n');
    const chunk = `10000\r\n${'z'.repeat(65_536)}\r\n`;
    for (let i = 0; i < 1000; i++) await new Promise((resolve) => endless.write(chunk, resolve));
    await using worker = pythonWorker(server.url, 'import holdfast\nfor item in holdfast.work("images"): item.done(1)\n');
    expect([await worker.ended, worker.stderr]).toEqual([0, '']);
    expect((await queue('wait', 'images')).code).toBe(0);
    expect(memoryMib()).toBeLessThan(MOST_MIB);
    for (const socket of [...sockets, endless]) socket.destroy();
  });

  const reason = whyNoMounts();
  it.skipIf(reason !== null)(
    `a full disk refuses a push, keeps what was acknowledged, and works again with space${reason === null ? '' : ` (skipped: ${reason})`}`,
    async () => {
      using disk = mountTmpfs('size=2m');
      await using own = await ServerProcess.start([`--db=${join(disk.path, 'queue.db')}`, '--listen=127.0.0.1:0']);
      server = own;
      await pushNumbers(10);
      const filler = join(disk.path, 'filler');
      for (let size = 64 * 1024; size >= 512; ) {
        try {
          writeFileSync(filler, 'x'.repeat(size), { flag: 'a' });
        } catch {
          size /= 2;
        }
      }
      const large = Array.from({ length: 500 }, (_, n) => `{"n":${n},"text":"${'x'.repeat(10_000)}"}\n`).join('');
      const refused = await queueCommand(server.url, ['push', 'images', '-', '--key=n'], large);
      expect([refused.code, refused.stderr]).toEqual([expect.any(Number), expect.stringContaining('error QUEUE_DATABASE_FULL: ')]);
      expect(refused.code).not.toBe(0);
      writeFileSync(filler, '');
      await using worker = pythonWorker(server.url, 'import holdfast\nfor item in holdfast.work("images"): item.done(item.key)\n');
      expect([await worker.ended, worker.stderr]).toEqual([0, '']);
      const { stdout } = await queue('results', 'images');
      expect(stdout.trim().split('\n')).toHaveLength(10);
    },
  );
});
