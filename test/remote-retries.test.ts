import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { WHOLE } from './support/fixtures.ts';
import { runCommand } from './support/run-command.ts';
import { LAUNCHER, runProcess } from './support/run-process.ts';
import { MEMORY, tempFolder } from './support/temp-folder.ts';

/** A port without a listener. */
const ENDPOINT = 'http://127.0.0.1:1';
const ENV = {
  PATH: process.env['PATH'],
  AWS_ACCESS_KEY_ID: 'nobody',
  AWS_SECRET_ACCESS_KEY: 'no-secret',
  AWS_ENDPOINT_URL: ENDPOINT,
  AWS_MAX_ATTEMPTS: '4',
};
const URL = 's3://bucket/run';
const NOTE = `${URL}: 127.0.0.1:1: ECONNREFUSED; Holdfast retries, 4 times in all`;

describe('a store that cannot be reached', () => {
  it.each(['ship', 'fetch'])('is reported once while %s retries, with the number of attempts at the end', async (command) => {
    using folder = tempFolder(MEMORY);
    const run = join(folder.path, 'run');
    cpSync(join(WHOLE, 'hf-trainer-run/data/run'), run, { recursive: true });
    await runCommand(['seal', join(run, 'checkpoint-2')]);
    const args = command === 'ship' ? [run, URL] : [URL, join(folder.path, 'back')];
    const { code, stdout, stderr } = await runProcess(LAUNCHER, [command, ...args], { env: ENV });
    expect({ code, stdout }).toEqual({ code: 75, stdout: '' });
    const [note, error, ...more] = stderr.split('\n');
    expect(note).toBe(`${NOTE}.`);
    expect(error).toMatch(/^error REMOTE_UNAVAILABLE: .*ECONNREFUSED.* \(tried 4 times\)$/);
    expect(more.join('\n')).not.toContain('tried again');
    expect((await runProcess(LAUNCHER, [command, ...args, '--quiet'], { env: ENV })).stderr).toMatch(/^error REMOTE_UNAVAILABLE/);
  });

  it('is reported while a run without local checkpoints waits for it', async () => {
    using folder = tempFolder(MEMORY);
    const args = ['run', '--metadata=off', `--dir=${join(folder.path, 'run')}`, `--ship=${URL}`, '--remote-patience=5s', '--', 'true'];
    const { code, stderr } = await runProcess(LAUNCHER, args, { env: ENV });
    expect({ code, stderr }).toEqual({ code: 75, stderr: expect.stringContaining(`holdfast: ${NOTE}\n`) as string });
    expect(stderr).toContain('(tried 4 times)');
  });
});
