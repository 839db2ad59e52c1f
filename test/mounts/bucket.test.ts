import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ACCESS_KEY, findServers, SECRET_KEY, type Server, startServer } from '../object-stores/servers.ts';
import { WHOLE } from '../support/fixtures.ts';
import { mountBucket, type Mounted, whyNoS3fs } from '../support/mounts.ts';
import { LAUNCHER, runProcess } from '../support/run-process.ts';
import { tempFolder } from '../support/temp-folder.ts';

const servers = findServers();
const reason = whyNoS3fs() ?? ('reason' in servers ? servers.reason : null);

/** A run of the real Hugging Face Trainer with checkpoints of steps 2, 4 and 6, all sealed. */
async function sealedTrainerRun(parent: string): Promise<string> {
  const run = join(parent, 'run');
  cpSync(join(WHOLE, 'hf-trainer-run/data/run'), run, { recursive: true });
  const { code, stderr } = await holdfast('seal', ...[2, 4, 6].map((step) => join(run, `checkpoint-${step}`)));
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return run;
}

const holdfast = (...args: readonly string[]) => runProcess(LAUNCHER, args);

describe.skipIf(reason !== null)(`a bucket mounted with s3fs${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  let server: Server;
  let bucket: Mounted;
  beforeAll(async () => {
    server = await startServer('folder' in servers ? servers.folder : '', 'versitygw');
    bucket = mountBucket({ bucket: server.bucket, port: server.port, accessKey: ACCESS_KEY, secretKey: SECRET_KEY });
  });
  afterAll(async () => {
    bucket?.[Symbol.dispose]();
    await server?.[Symbol.asyncDispose]();
  });

  it('is recognised as a bucket: every attempt works, but a rename is not a commit', async () => {
    const { code, stdout } = await holdfast('probe', '--json', '--bytes=1MiB', '--rounds=1', bucket.path);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      fileSystem: { id: 's3fs', type: 'fuse.s3fs' },
      place: { id: 'object-store' },
      commit: { protocol: 'manifest-last', wayOut: expect.stringContaining('holdfast ship') },
      capabilities: { renameFolder: { outcome: 'works' } },
      space: { isReal: false },
    });
    expect(readdirSync(bucket.path)).toEqual([]);
  });

  it('accepts no run: seal refuses it with a hint, before it reads or writes a file', async () => {
    const run = join(bucket.path, 'no-run');
    mkdirSync(run);
    cpSync(join(WHOLE, 'hf-trainer-run/data/run/checkpoint-2'), join(run, 'checkpoint-2'), { recursive: true });
    const before = readdirSync(run, { recursive: true });
    const { code, stdout, stderr } = await holdfast('seal', join(run, 'checkpoint-2'));
    expect({ code, stdout }).toEqual({ code: 73, stdout: '' });
    expect(stderr).toMatch(/^error STORAGE_NOT_SUITED: .*On s3fs a folder is renamed by copying: others see half of it\.\n.*holdfast ship/);
    expect(readdirSync(run, { recursive: true })).toEqual(before);
  });

  it('holds no queue in SQLite, not even behind a link: the server says which file system it is', async () => {
    using folder = tempFolder();
    const [inBucket, link] = [join(bucket.path, 'queue.db'), join(folder.path, 'queue.db')];
    writeFileSync(inBucket, '');
    symlinkSync(inBucket, link);
    for (const place of [inBucket, join(bucket.path, 'new.db'), link]) {
      const { code, stdout, stderr } = await holdfast('queue', 'serve', `--db=${place}`, '--listen=127.0.0.1:0');
      expect({ code, stdout, stderr }).toMatchObject({ code: 73, stdout: '', stderr: expect.stringContaining('QUEUE_PLACE_REFUSED') });
    }
    rmSync(inBucket);
  });

  it('accepts no copied run either, but a run can resume from such a copy', async () => {
    using folder = tempFolder();
    const run = join(bucket.path, 'copied');
    cpSync(await sealedTrainerRun(folder.path), run, { recursive: true });
    for (const args of [
      ['prune', run, '--keep=1'],
      ['rollback', run, '--to=2'],
      ['pin', join(run, 'checkpoint-2')],
    ]) {
      const { code, stderr } = await holdfast(...args);
      expect({ args, code, stderr }).toMatchObject({ code: 73, stderr: expect.stringContaining('STORAGE_NOT_SUITED') });
    }
    expect(await holdfast('resume', run)).toMatchObject({ code: 0, stdout: `${join(run, 'checkpoint-6')}\n`, stderr: '' });
    // Without its manifest a copy counts as missing: the data comes first, the manifest last,
    // without a rename.
    rmSync(join(run, 'checkpoint-6/holdfast.manifest.json'));
    expect(await holdfast('resume', run)).toMatchObject({ code: 0, stdout: `${join(run, 'checkpoint-4')}\n` });
    truncateSync(join(run, 'checkpoint-4/optimizer.pt'), 10);
    const { code, stdout, stderr } = await holdfast('resume', run);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${join(run, 'checkpoint-2')}\n` });
    expect(stderr).toContain('checkpoint-4 was not taken (bad)');
    expect(readdirSync(run)).toContain('checkpoint-4');
  });

  it('returns shipped copies, and only ship writes there', async () => {
    using folder = tempFolder();
    const run = await sealedTrainerRun(folder.path);
    const shipped = await runProcess(LAUNCHER, ['ship', '--all', run, `s3://${server.bucket}/shipped`], {
      env: { PATH: process.env['PATH'], ...server.env },
    });
    expect(shipped).toMatchObject({ code: 0 });
    const copy = join(bucket.path, 'shipped');
    const pointer = () => readFileSync(join(copy, '.holdfast/last-good.json'), 'utf8');
    const before = pointer();
    expect(await holdfast('resume', '--deep', copy)).toMatchObject({ code: 0, stdout: `${join(copy, 'checkpoint-6')}\n` });
    expect(await holdfast('prune', copy, '--keep=1')).toMatchObject({ code: 73, stderr: expect.stringContaining('RUN_IS_COPY') });
    truncateSync(join(copy, 'checkpoint-6/optimizer.pt'), 10);
    expect(await holdfast('resume', copy)).toMatchObject({ code: 0, stdout: `${join(copy, 'checkpoint-4')}\n` });
    expect(pointer()).toBe(before);
    expect(readdirSync(copy)).toContain('checkpoint-6');
  });
});
