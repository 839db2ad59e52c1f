import { connect } from 'node:net';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { lastGood } from '../../src/store/resume/last-good.ts';
import { readRun } from '../../src/store/folder/store.ts';
import { readLedger } from '../../src/ledger/reader.ts';
import { ROOT, runProcess } from '../support/run-process.ts';
import { Supervised, trainerCommand } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { killHard, trainerPid } from '../support/trainer-process.ts';

/** The example with steps of this length. Its result does not depend on the length. */
const example = (stepSeconds: number): string[] => ['python3', join(ROOT, 'examples/stdlib/train.py'), '400', String(stepSeconds)];
/**
 * For a run that is interrupted. Eight seconds leave time for the interruption, however long the
 * machine takes for a seal.
 */
const LONG = example(0.02);
/** For a run that finishes. */
const SHORT = example(0.002);

const kindsOf = (run: string): readonly string[] => readLedger(run).events.map(({ event }) => event.kind);
const goodStep = async (run: string): Promise<number | null> => (await lastGood(readRun(run))).checkpoint?.manifest.step ?? null;

describe('the example, interrupted and restarted with the same command, ends like an uninterrupted run', () => {
  let twin: string;
  beforeAll(async () => {
    const env = { PATH: process.env['PATH'], PYTHONPATH: join(ROOT, 'python') };
    twin = (await runProcess('python3', SHORT.slice(1), { env })).stdout.trim().split('\n').at(-1) ?? '';
  });

  it.each([
    ['by SIGTERM', 'SIGTERM', 143],
    ['by Ctrl-C', 'SIGINT', 143],
    ['by a terminal that was closed', 'SIGHUP', 143],
  ] as const)('%s', async (_, signal, code) => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    const first = new Supervised({ args: ['--dir', dir, '--every', '10steps'], command: LONG });
    await first.line(/sealed step 20 /);
    first.signal(signal);
    expect((await first.ended).code).toBe(code);
    const step = await goodStep(dir);
    expect(step).toBeGreaterThan(20);
    const second = await new Supervised({ args: ['--dir', dir, '--every', '50steps'], command: SHORT }).ended;
    expect(second).toMatchObject({ code: 0, stdout: `from step ${(step ?? 0) + 1}\n${twin}` });
  });

  it('by SIGKILL to the trainer, which the supervisor restarts in place', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    const run = new Supervised({ args: ['--dir', dir, '--every', '10steps', '--restarts', '1'], command: LONG });
    await run.line(/sealed step 20 /);
    killHard(await trainerPid(dir));
    const { code, stdout, stderr } = await run.ended;
    expect([code, stdout.split('\n').at(-1)]).toEqual([0, twin]);
    expect(stderr).toMatch(/the trainer was killed by SIGKILL/);
    expect(kindsOf(dir).filter((kind) => kind === 'attempt-started')).toHaveLength(2);
  });

  it('by SIGKILL to the supervisor: the trainer continues, and the next run resumes from its sealed checkpoint', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    const first = new Supervised({ args: ['--dir', dir, '--every', '50steps'], command: LONG });
    await first.line(/sealed step 100 /);
    first.kill();
    // The trainer shares the streams, so they end with it. By then it has printed its result.
    const { stdout } = await first.ended;
    expect(stdout.split('\n').at(-1)).toBe(twin);
    const second = await new Supervised({ args: ['--dir', dir, '--every', '50steps'], command: SHORT }).ended;
    expect([second.code, second.stdout.split('\n').at(-1)]).toEqual([0, twin]);
    expect(second.stdout).toMatch(/^from step (101|151|201|251|301|351)\n/);
  });
});

describe('a run', () => {
  it('that another gang takes over is fenced: its trainer ends, and its exit code names the reason', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    const older = new Supervised({ args: ['--dir', dir, '--every', '10steps'], command: trainerCommand('dies', 'sdk') });
    await older.line(/sealed step 10 /);
    const newer = new Supervised({
      args: ['--dir', dir, '--every', '10steps'],
      command: trainerCommand('dies', 'sdk', { steps: 100_000 }),
    });
    expect(await older.ended).toMatchObject({ code: 5, stderr: expect.stringContaining('ATTEMPT_FENCED') as string });
    await newer.line(/sealed step/);
    newer.signal('SIGTERM');
    expect((await newer.ended).code).toBe(143);
  });

  it('saves at SIGUSR1, and continues', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    const run = new Supervised({ args: ['--dir', dir], command: trainerCommand('dies', 'sdk') });
    await run.line(/^ready/);
    run.signal('SIGUSR1');
    await run.line(/sealed step/);
    run.signal('SIGUSR1');
    await run.line(/notice: a save was asked for/);
    run.signal('SIGTERM');
    expect((await run.ended).code).toBe(143);
  });

  it('ends when the watched file asks for it', async () => {
    using folder = tempFolder();
    const [dir, file] = [join(folder.path, 'run'), join(folder.path, 'annotations')];
    writeFileSync(file, 'app="x"\n');
    const run = new Supervised({ args: ['--dir', dir, '--notice-file', file], command: trainerCommand('dies', 'sdk') });
    await run.line(/^ready/);
    writeFileSync(file, 'app="x"\nholdfast.dev/notice="suspend"\n');
    expect(await run.ended).toMatchObject({ code: 143, stderr: expect.stringContaining('notice: suspended') as string });
    expect(await goodStep(dir)).toBeGreaterThanOrEqual(5);
  });

  it('that gets an advice before its trainer attaches saves once the trainer trains', async () => {
    using folder = tempFolder();
    const [dir, file] = [join(folder.path, 'run'), join(folder.path, 'annotations')];
    writeFileSync(file, 'holdfast.dev/notice="pressure"\n');
    const args = ['--dir', dir, '--every', '1h', '--notice-file', file];
    const run = new Supervised({ args, command: trainerCommand('dies', 'sdk') });
    await run.line(/no rank is attached/);
    await run.line(/sealed step/);
    run.signal('SIGTERM');
    expect((await run.ended).code).toBe(143);
    const reasons = readLedger(dir).events.flatMap(({ event }) => (event.kind === 'save-started' ? [event.reason] : []));
    expect(reasons[0]).toBe('advice');
  });

  it('passes the checkpoint to a trainer without the SDK', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    await new Supervised({ args: ['--dir', dir, '--every', '10steps'], command: trainerCommand('dies', 'sdk', { steps: 25 }) }).ended;
    const command = ['sh', '-c', 'echo "$HOLDFAST_RESUME_STEP $HOLDFAST_RESUME_PATH $*"', 'sh'];
    const { stdout } = await new Supervised({ args: ['--dir', dir, '--resume-arg=--from'], command }).ended;
    expect(stdout).toBe(`20 ${dir}/step-20 --from ${dir}/step-20`);
  });

  it('uses its restarts for errors, and ends with the trainer’s code', async () => {
    using folder = tempFolder();
    const run = new Supervised({ args: ['--dir', join(folder.path, 'run'), '--restarts', '1'], command: trainerCommand('fails', 'bare') });
    const { code, stdout } = await run.ended;
    expect([code, stdout.match(/^start/gm)?.length]).toEqual([9, 2]);
  });

  it('keeps as many checkpoints as --keep says', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    await new Supervised({
      args: ['--dir', dir, '--every', '10steps', '--keep', '2'],
      command: trainerCommand('dies', 'sdk', { steps: 60 }),
    }).ended;
    expect((await runProcess('ls', [dir])).stdout.trim().split('\n')).toEqual(['step-40', 'step-50']);
  });

  it('whose grace is too short for a save starts none, gives the reason, and keeps the last good checkpoint', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    // The only save is the requested one. A save that is being sealed when the notice comes would
    // be finished first.
    const run = new Supervised({ args: ['--dir', dir, '--every', '1h', '--grace', '300ms'], command: trainerCommand('dies', 'sdk') });
    await run.line(/^ready/);
    run.signal('SIGUSR1');
    await run.line(/sealed step/);
    run.signal('SIGTERM');
    expect(await run.ended).toMatchObject({ code: 143, stderr: expect.stringMatching(/no flush: .* needs .* are left/) as string });
    const decisions = readLedger(dir).events.flatMap(({ event }) => (event.kind === 'decision' ? [event.outcome] : []));
    expect(decisions).toEqual(['keep-last-good']);
    expect(await goodStep(dir)).toBeGreaterThanOrEqual(5);
  });

  it('continues training when its folder disappears, and warns', async () => {
    using folder = tempFolder();
    const [dir, enough] = [join(folder.path, 'run'), join(folder.path, 'enough')];
    const run = new Supervised({ args: ['--dir', dir, '--every', '1h'], command: trainerCommand('dies', 'sdk', { until: enough }) });
    await run.line(/^ready/);
    run.signal('SIGUSR1');
    await run.line(/sealed step/);
    // The test removes the folder between two saves, because a trainer may fail when it cannot
    // write into its folder. It uses one rename: emptying a folder file by file beside a writing
    // run may never end.
    renameSync(dir, join(folder.path, 'taken'));
    run.signal('SIGUSR1');
    await run.line(/error [A-Z_]+: /);
    run.letFinish(enough);
    const { code, stdout } = await run.ended;
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/finished \d+/) as string });
  });

  it('survives a peer that sends garbage to its socket, and warns once', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    const run = new Supervised({ args: ['--dir', dir, '--every', '10steps'], command: trainerCommand('dies', 'sdk') });
    await run.line(/sealed step 10 /);
    const environ = readFileSync(`/proc/${await trainerPid(dir)}/environ`, 'latin1');
    const path = /HOLDFAST_SOCKET=([^\0]*)/.exec(environ)?.[1] ?? '';
    for (const nonsense of ['nonsense\n', '{"type":"finish"}\n', Buffer.alloc(200_000, 0x41)]) {
      await new Promise<void>((resolve) => {
        const socket = connect(path, () => socket.write(nonsense));
        socket.on('error', () => {});
        socket.on('close', () => resolve());
      });
    }
    await run.line(/sealed step 100 /);
    run.signal('SIGTERM');
    const { code, stderr } = await run.ended;
    expect([code, stderr.match(/warning: a peer on the socket/g)?.length]).toEqual([143, 1]);
  });
});
