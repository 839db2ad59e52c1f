import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { realClock } from '../../src/core/clock.ts';
import { createRng } from '../../src/core/rng.ts';
import { parseLocation } from '../../src/remote/backends/location.ts';
import { openStore } from '../../src/remote/backends/open-store.ts';
import { pythonWorker, queueCommand, ServerProcess } from '../queue/processes.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { findServers, startServer } from './servers.ts';

const binaries = findServers();
const SIZE = 300_000;

/** Reads an object as `holdfast resume` would. */
async function read(url: string, env: Readonly<Record<string, string>>): Promise<Buffer | null> {
  const location = parseLocation(url.slice(0, url.lastIndexOf('/')));
  if (!location.ok) throw new Error(location.reason);
  const { signal } = new AbortController();
  const memory = { get: () => null, set() {}, delete() {} };
  const store = openStore(location.value, { env: { HOME: '/nonexistent', ...env }, clock: realClock, rng: createRng(1), signal, memory });
  return (await store.read(url.slice(url.lastIndexOf('/') + 1), SIZE))?.bytes ?? null;
}

describe.skipIf('reason' in binaries)(
  `large results of a queue in an object store${'reason' in binaries ? ` (skipped: ${binaries.reason})` : ''}`,
  () => {
    it.each(['versitygw', 'minio'] as const)('are in the real %s before their reference is committed', async (name) => {
      using folder = tempFolder();
      await using bucket = await startServer('folder' in binaries ? binaries.folder : '', name);
      await using server = await ServerProcess.start([`--db=${join(folder.path, 'queue.db')}`, '--listen=127.0.0.1:0']);
      expect((await queueCommand(server.url, ['push', 'q', '-', '--key=n'], '{"n":1}\n{"n":2}\n')).code).toBe(0);
      const script = `
import holdfast
for item in holdfast.work("q", store="s3://${bucket.bucket}/results of a run"):
    first = item.save(item.key.encode() * ${SIZE}, ".bin")
    assert item.save(item.key.encode() * ${SIZE}, ".bin") == first
    item.done(first)
`;
      await using worker = pythonWorker(server.url, script, bucket.env);
      expect([await worker.ended, worker.stderr]).toEqual([0, '']);
      const { stdout } = await queueCommand(server.url, ['results', 'q']);
      const results = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { key: string; result: { ref: string; bytes: number; sha256: string } });
      expect(results).toHaveLength(2);
      for (const { key, result } of results) {
        const bytes = await read(result.ref, bucket.env);
        expect(bytes?.equals(Buffer.alloc(SIZE, key))).toBe(true);
        expect([result.bytes, result.sha256]).toEqual([SIZE, createHash('sha256').update(Buffer.alloc(SIZE, key)).digest('hex')]);
      }
    });
  },
);
