import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { realClock } from '../../src/core/clock.ts';
import { openLedger } from '../../src/ledger/writer.ts';
import { readLedger } from '../../src/ledger/reader.ts';
import type { EventKind, EventOf } from '../../src/ledger/events.ts';
import { LAUNCHER, ROOT, runProcess } from '../support/run-process.ts';
import { runCommand } from '../support/run-command.ts';
import { Supervised } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { killHard, trainerPid } from '../support/trainer-process.ts';

const EXAMPLE = join(ROOT, 'examples/stdlib/train.py');
const BULKY = join(ROOT, 'test/support/trainers/bulky.py');
const LONG_RUN = ['python3', EXAMPLE, '3000', '0.002'];
/**
 * The same run at a fifth of the pace: half a minute, so that it cannot end before the test
 * interrupts it.
 */
const SLOW_RUN = ['python3', EXAMPLE, '3000', '0.01'];

const eventsOf = <Kind extends EventKind>(run: string, kind: Kind): readonly EventOf<Kind>[] =>
  readLedger(run).events.flatMap(({ event }) => (event.kind === kind ? [event as EventOf<Kind>] : []));

interface Pointer {
  readonly attempt: number;
  readonly step: number;
}
const pointerOf = (remote: string): Pointer => JSON.parse(readFileSync(join(remote, '.holdfast/last-good.json'), 'utf8')) as Pointer;

describe('a run that ships', () => {
  let twin: string;
  beforeAll(async () => {
    const env = { PATH: process.env['PATH'], PYTHONPATH: join(ROOT, 'python') };
    twin = (await runProcess('python3', LONG_RUN.slice(1), { env })).stdout.trim().split('\n').at(-1) ?? '';
  });

  it('resumes from the copy when its disk is lost, above every shipped attempt, and ends like an uninterrupted run', async () => {
    using folder = tempFolder();
    const [dir, remote] = [join(folder.path, 'run'), join(folder.path, 'copies')];
    const args = ['--dir', dir, '--ship', `file://${remote}`, '--every', '100steps'];
    const first = new Supervised({ args, command: SLOW_RUN });
    await first.line(/shipped step \d+ /);
    first.signal('SIGTERM');
    expect((await first.ended).code).toBe(143);
    // The checkpoint flushed within the grace period was shipped within it, too.
    const flushed = eventsOf(dir, 'attempt-ended')[0]?.lastGoodStep ?? -1;
    expect(pointerOf(remote)).toMatchObject({ attempt: 1, step: flushed });
    expect(eventsOf(dir, 'shipped').at(-1)).toMatchObject({ step: flushed, url: `file://${remote}` });
    rmSync(dir, { recursive: true });

    const second = await new Supervised({ args, command: LONG_RUN }).ended;
    expect(second).toMatchObject({ code: 0, stdout: `from step ${flushed + 1}\n${twin}` });
    expect(eventsOf(dir, 'fetched')).toMatchObject([{ step: flushed }]);
    expect(pointerOf(remote)).toMatchObject({ attempt: 2, step: 2900 });
    expect((await runCommand(['ls', dir])).stdout).toMatch(new RegExp(`local, file://${remote} +step-2900 +← last good`));
    expect((await runCommand(['log', dir])).stdout).toContain(`fetched    step ${flushed} from`);
  });

  it('fetches a copy newer than its folder, and never reuses an attempt number after a node dies without shipping', async () => {
    using folder = tempFolder();
    const [dir, old, remote] = [join(folder.path, 'run'), join(folder.path, 'old'), join(folder.path, 'copies')];
    const args = ['--dir', dir, '--ship', `file://${remote}`, '--every', '100steps'];
    for (const pattern of [/shipped step \d+ /, /resuming after step \d+/, /sealed step \d+/]) {
      const run = new Supervised({ args, command: SLOW_RUN });
      await run.line(pattern);
      run.signal('SIGTERM');
      expect((await run.ended).code).toBe(143);
      if (!existsSync(old)) cpSync(dir, old, { recursive: true });
    }
    const { step } = pointerOf(remote);
    rmSync(dir, { recursive: true });
    cpSync(old, dir, { recursive: true });
    const last = await new Supervised({ args, command: LONG_RUN }).ended;
    expect(last).toMatchObject({
      code: 0,
      stdout: `from step ${step + 1}\n${twin}`,
      stderr: expect.stringContaining('attempt 4 of') as string,
    });
    expect(readdirSync(join(remote, '.holdfast/attempt-numbers')).sort()).toEqual(['1.json', '2.json', '3.json', '4.json']);
  });

  it('reports that no time is left for a copy, which does not count until a later attempt finishes it', async () => {
    using folder = tempFolder();
    const [dir, remote] = [join(folder.path, 'run'), join(folder.path, 'copies')];
    // A checkpoint of 2 MiB takes half a minute at this rate.
    const slow = ['--dir', dir, '--ship', `file://${remote}`, '--ship-limit', '64KiB/s', '--every', '20steps', '--grace', '4s'];
    const run = new Supervised({ args: slow, command: ['python3', BULKY, '1000000'] });
    await run.line(/sealed step 20 /);
    run.signal('SIGTERM');
    const { code, stderr } = await run.ended;
    expect({ code, stderr }).toEqual({
      code: 143,
      stderr: expect.stringMatching(/shipping of step \d+ to .* failed: step \d+ is not shipped/) as string,
    });
    expect(eventsOf(dir, 'ship-failed')).toHaveLength(1);
    expect(existsSync(join(remote, '.holdfast/last-good.json'))).toBe(false);

    const again = await new Supervised({
      args: ['--dir', dir, '--ship', `file://${remote}`, '--every', '20steps'],
      command: ['python3', BULKY, '300'],
    }).ended;
    expect(again.code).toBe(0);
    expect(pointerOf(remote)).toMatchObject({ attempt: 2, step: eventsOf(dir, 'attempt-ended').at(-1)?.lastGoodStep });
  });

  it('waits at its end until its last checkpoint is shipped', async () => {
    using folder = tempFolder();
    const [dir, remote] = [join(folder.path, 'run'), join(folder.path, 'copies')];
    const args = ['--dir', dir, '--ship', `file://${remote}`, '--ship-limit', '1MiB/s', '--every', '20steps'];
    expect((await new Supervised({ args, command: ['python3', BULKY, '90'] }).ended).code).toBe(0);
    expect(pointerOf(remote)).toMatchObject({ attempt: 1, step: 80 });
  });

  it('completes a slow copy, although retention would delete each save once the next is sealed', async () => {
    using folder = tempFolder();
    const [dir, remote] = [join(folder.path, 'run'), join(folder.path, 'copies')];
    // A copy takes two seconds, and the trainer saves many times meanwhile.
    const args = ['--dir', dir, '--ship', `file://${remote}`, '--ship-limit', '1MiB/s', '--every', '20steps', '--keep', '1'];
    const run = new Supervised({ args, command: ['python3', BULKY, '1000000'] });
    const shipped = Number(/shipped step (\d+)/.exec(await run.line(/shipped step \d+/))?.[1]);
    run.signal('SIGTERM');
    expect((await run.ended).code).toBe(143);
    expect(eventsOf(dir, 'shipped')[0]?.step).toBe(shipped);
    // The shipper released its hold: nothing stays pinned.
    expect(readdirSync(join(dir, '.holdfast/pins'))).toEqual([]);
  });

  it('refuses to start under the copies of another run', async () => {
    using folder = tempFolder();
    const [one, other, remote] = [join(folder.path, 'one'), join(folder.path, 'other'), join(folder.path, 'copies')];
    const short = ['python3', EXAMPLE, '60', '0.002'];
    expect(
      (await new Supervised({ args: ['--dir', one, '--ship', `file://${remote}`, '--every', '20steps'], command: short }).ended).code,
    ).toBe(0);
    expect((await new Supervised({ args: ['--dir', other, '--every', '20steps'], command: short }).ended).code).toBe(0);
    const { code, stdout, stderr } = await new Supervised({ args: ['--dir', other, '--ship', `file://${remote}`], command: short }).ended;
    expect({ code, stdout, stderr }).toEqual({ code: 65, stdout: '', stderr: expect.stringContaining('REMOTE_CONFLICT') as string });
  });
});

describe('a run whose node is lost', () => {
  /** Makes checkpoints of steps 100 and 200, and a copy of each. */
  async function shippedRun(folder: string): Promise<{ dir: string; remote: string; args: string[]; command: string[]; end: string }> {
    const [dir, remote] = [join(folder, 'run'), join(folder, 'copies')];
    const command = ['python3', EXAMPLE, '300', '0.002'];
    const args = ['--dir', dir, '--ship', `file://${remote}`, '--every', '100steps'];
    const { code, stdout } = await new Supervised({ args, command }).ended;
    expect(code).toBe(0);
    // The run may have skipped a copy that the next one overtook.
    expect((await runProcess(LAUNCHER, ['ship', dir, `file://${remote}`, '--all'])).code).toBe(0);
    return { dir, remote, args, command, end: stdout.split('\n').at(-1) ?? '' };
  }

  it('resumes from the target of a rollback, as soon as any node has started with that rollback', async () => {
    using folder = tempFolder();
    const { dir, remote, args, command, end } = await shippedRun(folder.path);
    expect((await runProcess(LAUNCHER, ['rollback', dir, '--to', '100'])).code).toBe(0);
    const before = await trainerPid(dir);
    // It saves nothing and is killed without warning: it leaves only the rollback.
    const first = new Supervised({ args: [...args.slice(0, -1), '1000000steps'], command: SLOW_RUN });
    await first.line(/resuming after step 100/);
    const pid = await trainerPid(dir, before);
    first.kill();
    killHard(pid);
    await first.ended;
    expect(pointerOf(remote)).toMatchObject({ attempt: 1, step: 200 });
    rmSync(dir, { recursive: true });

    const { code, stdout, stderr } = await new Supervised({ args, command }).ended;
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: `from step 101\n${end}`,
      stderr: expect.stringContaining('rolled back at') as string,
    });
    expect(pointerOf(remote)).toMatchObject({ attempt: 4, step: 200 });
  });

  it('refuses to resume from an excluded checkpoint when it cannot fetch the one that counts', async () => {
    using folder = tempFolder();
    const { dir, remote, args, command } = await shippedRun(folder.path);
    const other = join(folder.path, 'other');
    cpSync(dir, other, { recursive: true });
    expect((await runProcess(LAUNCHER, ['rollback', dir, '--to', '100'])).code).toBe(0);
    expect((await runProcess(LAUNCHER, ['ship', dir, `file://${remote}`])).code).toBe(0);
    // The other node does not know the rollback. It has no seal of the checkpoint that counts, and
    // another folder is in its place.
    rmSync(join(other, 'step-100/holdfast.manifest.json'));
    const { code, stdout, stderr } = await new Supervised({ args: ['--dir', other, ...args.slice(2)], command }).ended;
    expect({ code, stdout, stderr }).toEqual({ code: 73, stdout: '', stderr: expect.stringContaining('error NAME_TAKEN') as string });
  });

  it('resumes from an older copy when the newest one is bad, and reports why', async () => {
    using folder = tempFolder();
    const { dir, remote, args, command, end } = await shippedRun(folder.path);
    const bad = join(remote, 'step-200');
    const file = readdirSync(bad).find((name) => name !== 'holdfast.manifest.json') ?? '';
    writeFileSync(join(bad, file), Buffer.alloc(statSync(join(bad, file)).size, 1));
    rmSync(dir, { recursive: true });
    const { code, stdout, stderr } = await new Supervised({ args, command }).ended;
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: `from step 101\n${end}`,
      stderr: expect.stringMatching(/the copy step-200 at .* is not good and stays there.*CHECKSUM_MISMATCH/) as string,
    });
    expect(existsSync(join(bad, 'holdfast.manifest.json'))).toBe(true);
    // The repeated step has a copy of its own beside the bad one, and the pointer names it.
    expect(pointerOf(remote)).toMatchObject({ step: 200, attempt: 2, name: expect.stringMatching(/^step-200-[0-9a-f]{8}$/) as string });
  });
});

describe('a store that never answers', () => {
  it('does not delay the end of a run that is interrupted before its trainer starts', async () => {
    using folder = tempFolder();
    const connected = Promise.withResolvers<void>();
    const server = createServer(() => connected.resolve());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
    const env = {
      AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${port}`,
      AWS_ACCESS_KEY_ID: 'a',
      AWS_SECRET_ACCESS_KEY: 'b',
      AWS_REGION: 'us-east-1',
    };
    const run = new Supervised({ args: ['--dir', join(folder.path, 'run'), '--ship', 's3://checkpoints/run'], command: ['true'], env });
    await connected.promise;
    run.signal('SIGTERM');
    expect((await run.ended).code).toBe(143);
    server.close();
  });
});

describe('a store that cannot be reached', () => {
  /** Nothing listens there. */
  const env = {
    AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:1',
    AWS_ACCESS_KEY_ID: 'a',
    AWS_SECRET_ACCESS_KEY: 'b',
    AWS_REGION: 'us-east-1',
    AWS_MAX_ATTEMPTS: '1',
  };
  const ship = ['--ship', 's3://checkpoints/run', '--remote-patience=5s'];
  const short = ['python3', EXAMPLE, '200', '0.002'];

  it('keeps a run from a fresh start, because there may be newer copies', async () => {
    using folder = tempFolder();
    const { code, stdout, stderr } = await new Supervised({ args: ['--dir', join(folder.path, 'run'), ...ship], command: short, env })
      .ended;
    expect({ code, stdout }).toEqual({ code: 75, stdout: '' });
    expect(stderr).toContain('error REMOTE_UNAVAILABLE: the trainer was not started: nothing is sealed here');
  });

  it('does not keep a run with a checkpoint from training, and is reported once', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    const args = ['--dir', dir, '--every', '40steps'];
    expect((await new Supervised({ args, command: ['python3', EXAMPLE, '100', '0.002'] }).ended).code).toBe(0);
    // As far as this folder knows, another node may have shipped newer copies.
    const refused = await new Supervised({ args: [...args, ...ship], command: short, env }).ended;
    expect(refused).toMatchObject({ code: 75, stderr: expect.stringContaining('may have shipped newer checkpoints') as string });
    const ledger = openLedger(dir, { attempt: 1, node: 'here', clock: realClock, onFailure: () => {} });
    ledger.append({ kind: 'shipped', step: 80, url: 's3://checkpoints/run', bytes: 1, totalMs: 1 });
    await ledger.close();
    const { code, stdout, stderr } = await new Supervised({ args: [...args, ...ship], command: short, env }).ended;
    expect({ code, stdout: stdout.split('\n')[0] }).toEqual({ code: 0, stdout: 'from step 81' });
    expect(stderr).toContain('the run resumes from the local checkpoints');
    expect(stderr.match(/shipping of step \d+ to s3:\/\/checkpoints\/run failed/g)).toHaveLength(1);
    expect(eventsOf(dir, 'ship-failed').length).toBeGreaterThanOrEqual(1);
  });
});
