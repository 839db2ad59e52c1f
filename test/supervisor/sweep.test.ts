import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCommand } from '../support/run-command.ts';
import { supervisedRuns } from '../support/supervised-runs.ts';
import { tempFolder } from '../support/temp-folder.ts';

const start = supervisedRuns();

/** Trains one step, and reports the square of its argument as the loss. */
const SWEPT = `
import os, sys, holdfast
run = holdfast.attach()
start = run.resume(lambda _: None)
run.step(start, loss=1.0)
print(sys.argv[1:], os.environ["HOLDFAST_PARAM_LR"], flush=True)
run.report(loss=float(sys.argv[1]) ** 2)
run.finish()
`;

describe('a sweep', () => {
  it('gives each trial its row, its folder and its variables, and ls sorts the trials by loss', async () => {
    using folder = tempFolder();
    const [grid, dir] = [join(folder.path, 'grid.yaml'), join(folder.path, 'sweep')];
    writeFileSync(grid, 'lr: [3e-1, 1e-1, 2e-1]\nbatch: 16\n');
    const trial = (index: string) =>
      start({
        args: ['--dir', dir, '--grid', grid, '--every', '1h'],
        command: ['python3', '-c', SWEPT, '{lr}', '--out={trial}'],
        env: { JOB_COMPLETION_INDEX: index },
      }).ended;
    expect((await trial('0')).stdout).toBe("['3e-1', '--out=0-lr=3e-1,batch=16'] 3e-1");
    expect((await trial('1')).code).toBe(0);
    mkdirSync(join(dir, 'notes'));

    const listed = await runCommand(['ls', '--sweep', dir, '--json']);
    expect(listed.code).toBe(0);
    expect(JSON.parse(listed.stdout)).toMatchObject({
      schema: 'holdfast.sweep/1',
      count: 3,
      trials: [
        {
          name: '1-lr=1e-1,batch=16',
          index: 1,
          state: 'finished',
          parameters: [
            { name: 'lr', value: '1e-1' },
            { name: 'batch', value: '16' },
          ],
        },
        { name: '0-lr=3e-1,batch=16', index: 0, state: 'finished', loss: 0.09 },
      ],
    });
    expect((await runCommand(['ls', '--sweep', dir])).stdout).toContain('2 of 3 trials started · 2 finished');
    expect(await trial('3')).toMatchObject({ code: 64, stderr: expect.stringContaining('trial 3 is not in the grid') as string });
  });
});

/** Prints the time it was scheduled for. The first run is interrupted, the second one finishes. */
const SCHEDULED = `
import os, sys, time, holdfast
run = holdfast.attach()
start = run.resume(lambda _: None)
print(sys.argv[1], os.environ["HOLDFAST_SCHEDULED_AT"], flush=True)
run.step(start)
if not os.path.exists(sys.argv[2]):
    open(sys.argv[2], "w").close()
    time.sleep(600)
run.finish()
`;

describe('a run that a CronJob starts', () => {
  it('keeps its scheduled time when a later Job resumes it, and the run after it gets its own', async () => {
    using folder = tempFolder();
    const job = (name: string) =>
      start({
        args: ['--dir', join(folder.path, 'run'), '--every', '1h', '--grace', '5s'],
        command: ['python3', '-c', SCHEDULED, '{scheduled}', join(folder.path, 'met')],
        env: { HOLDFAST_JOB_NAME: name },
      });
    const first = job('nightly-29497080');
    await first.line(/2026-01-31T02:00:00Z 2026-01-31T02:00:00Z/);
    first.signal('SIGTERM');
    expect((await first.ended).code).toBe(143);
    expect(await job('nightly-29498520').ended).toMatchObject({ code: 0, stdout: '2026-01-31T02:00:00Z 2026-01-31T02:00:00Z' });
    expect(await job('nightly-29499960').ended).toMatchObject({ code: 0, stdout: '2026-02-02T02:00:00Z 2026-02-02T02:00:00Z' });
  });

  it('is refused when an argument needs the time and nothing tells it', async () => {
    using folder = tempFolder();
    const ended = await start({ args: ['--dir', join(folder.path, 'run')], command: ['echo', '{scheduled}'] }).ended;
    expect(ended).toMatchObject({ code: 64, stderr: expect.stringContaining('HOLDFAST_SCHEDULED_AT=') as string });
  });
});
