import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readLedger } from '../../src/ledger/reader.ts';
import { ROOT, runProcess } from '../support/run-process.ts';
import { Supervised } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { killHard, trainerPid } from '../support/trainer-process.ts';
import { findServers, type Server, type ServerName, startServer } from './servers.ts';

const EXAMPLE = join(ROOT, 'examples/stdlib/train.py');
const LONG_RUN = ['python3', EXAMPLE, '3000', '0.002'];
/**
 * The same run at a fifth of the pace: half a minute, so that it cannot end before the test
 * interrupts it.
 */
const SLOW_RUN = ['python3', EXAMPLE, '3000', '0.01'];

const found = findServers();
const binaries = 'folder' in found ? found.folder : '';

describe.skipIf('reason' in found).each(['minio', 'fake-gcs-server'] as const)('a run that ships to %s', (name: ServerName) => {
  let server: Server;
  let twin: string;
  beforeAll(async () => {
    server = await startServer(binaries, name);
    const env = { PATH: process.env['PATH'], PYTHONPATH: join(ROOT, 'python') };
    twin = (await runProcess('python3', LONG_RUN.slice(1), { env })).stdout.trim().split('\n').at(-1) ?? '';
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  it('resumes from its copy after its node and disk are lost without warning, and ends with the same weights', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    const args = ['--dir', dir, '--ship', `${server.scheme}://${server.bucket}/run`, '--every', '100steps'];
    const run = new Supervised({ args, command: SLOW_RUN, env: server.env });
    const shipped = Number(/shipped step (\d+)/.exec(await run.line(/shipped step \d{3,}/))?.[1]);
    const pid = await trainerPid(dir);
    run.kill();
    killHard(pid);
    await run.ended;
    rmSync(dir, { recursive: true });

    const second = await new Supervised({ args, command: LONG_RUN, env: server.env }).ended;
    expect({ code: second.code, end: second.stdout.split('\n').at(-1), stderr: second.stderr }).toEqual({
      code: 0,
      end: twin,
      stderr: expect.stringContaining('shipped step 2900') as string,
    });
    const [start] = readLedger(dir).events.flatMap(({ event, attempt }) =>
      event.kind === 'attempt-started' ? [{ ...event, attempt }] : [],
    );
    expect(start).toMatchObject({ attempt: 2 });
    expect(start?.resumeStep).toBeGreaterThanOrEqual(shipped);
    expect(second.stdout).toContain(`from step ${(start?.resumeStep ?? 0) + 1}\n`);
  });
});
