import { once } from 'node:events';
import { request } from 'node:http';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Status } from '../../src/supervisor/status/status.ts';
import { ROOT } from '../support/run-process.ts';
import { Supervised, trainerCommand } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';

function ask(
  origin: string,
  path: string,
  method = 'GET',
): Promise<{ readonly code: number; readonly type: string; readonly body: string }> {
  return new Promise((resolve, reject) => {
    const asked = request(new URL(path, origin), { method, agent: false }, (answer) => {
      let body = '';
      answer.setEncoding('utf8').on('data', (text: string) => (body += text));
      answer.on('end', () => resolve({ code: answer.statusCode ?? 0, type: answer.headers['content-type'] ?? '', body }));
    });
    asked.on('error', reject).end();
  });
}

async function statusOf(origin: string): Promise<Status> {
  return JSON.parse((await ask(origin, '/status')).body) as Status;
}

/** Asks until the condition holds; the time limit of the test is the bound. */
async function until(origin: string, isSo: (status: Status) => boolean): Promise<Status> {
  for (;;) {
    const status = await statusOf(origin);
    if (isSo(status)) return status;
  }
}

const originIn = (line: string): string => /http:\/\/[^/]+/.exec(line)?.[0] ?? '';

describe('the live status', () => {
  it('shows the progress of a run, its safe step, the time of a flush, and the time that a notice leaves', async () => {
    using folder = tempFolder();
    const args = ['--dir', join(folder.path, 'run'), '--every', '100steps', '--status', '0', '--grace', '5m'];
    const run = new Supervised({ args, command: trainerCommand('ignores', 'sdk') });
    const origin = originIn(await run.line(/status on http/));
    await run.line(/sealed step 200 /);
    // While it waits for the seal of an earlier save, a hang cannot be detected.
    const status = await until(origin, ({ flush, progress, hang }) => flush !== null && progress?.stepsPerSecond != null && hang !== null);
    expect(status).toMatchObject({
      schema: 'holdfast.status/1',
      attempt: 1,
      state: 'training',
      restarts: 0,
      trainer: { ranks: 1, worldSize: 1 },
      notice: null,
      hang: { isHung: false },
    });
    expect(status.lastGood?.step).toBeGreaterThanOrEqual(100);
    expect(status.saves.outcomes['sealed']).toBeGreaterThanOrEqual(1);
    expect(status.saves.predictions?.compared).toBeGreaterThanOrEqual(1);
    const metrics = await ask(origin, '/metrics');
    expect(metrics).toMatchObject({ code: 200, type: 'text/plain; version=0.0.4; charset=utf-8' });
    expect(metrics.body).toMatch(/^holdfast_last_good_step \d+$/m);
    expect(metrics.body).toMatch(/^holdfast_predicted_flush_seconds\{percentile="95"\} [\d.e-]+$/m);
    expect(metrics.body).not.toContain('holdfast_notice_seconds_left');
    expect(await ask(origin, '/healthz')).toMatchObject({ code: 200, body: 'ok\n' });
    expect(await ask(origin, '/')).toMatchObject({ code: 404, body: expect.stringContaining('/metrics') as string });
    expect(await ask(origin, '/status', 'POST')).toMatchObject({ code: 405 });
    run.signal('SIGTERM');
    const ending = await until(origin, ({ notice }) => notice !== null);
    expect(ending).toMatchObject({ state: 'ending', notice: { cause: 'sigterm', confidence: 'known' } });
    expect(ending.notice?.secondsLeft).toBeGreaterThan(0);
    expect((await ask(origin, '/metrics')).body).toMatch(/^holdfast_notice_seconds_left \d/m);
    // A second Ctrl-C does not wait for five minutes.
    run.signal('SIGINT');
    await run.line(/notice: Ctrl-C/);
    await run.pressAgain();
    expect((await run.ended).code).toBe(143);
  });

  it('on a port in use is given up with a warning, and training continues', async () => {
    using folder = tempFolder();
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    try {
      const args = ['--dir', join(folder.path, 'run'), '--status', String(port)];
      const run = new Supervised({ args, command: trainerCommand('dies', 'sdk', { until: join(folder.path, 'enough') }) });
      const line = await run.line(/STATUS_FAILED/);
      expect(line).toContain(`the status cannot be served on 127.0.0.1:${port}: EADDRINUSE; training goes on without it`);
      run.letFinish(join(folder.path, 'enough'));
      expect((await run.ended).code).toBe(0);
    } finally {
      taken.close();
    }
  });

  it('answers a health check with 503 while the trainer hangs', async () => {
    using folder = tempFolder();
    const args = ['--dir', join(folder.path, 'run'), '--status', '127.0.0.1:0', '--hang', '3s', '--grace', '3s'];
    const run = new Supervised({ args, command: trainerCommand('hangs', 'sdk') });
    const origin = originIn(await run.line(/status on http/));
    await run.line(/the trainer seems to hang/);
    expect((await ask(origin, '/healthz')).code).toBe(503);
    expect((await ask(origin, '/metrics')).body).toMatch(/^holdfast_hung 1$/m);
    run.signal('SIGTERM');
    expect((await run.ended).code).toBe(143);
  });
});

it('a background save that the trainer left behind is sealed, and does not count as the last save', async () => {
  using folder = tempFolder();
  const [dir, written] = [join(folder.path, 'run'), join(folder.path, 'written')];
  const command = ['python3', join(ROOT, 'test/support/trainers/background_save.py'), written];
  const run = new Supervised({ args: ['--dir', dir, '--every', '3000steps', '--status', '0'], command });
  const origin = originIn(await run.line(/status on http/));
  await run.line(/in the background: 3000/);
  // Progress shows that the trainer continues.
  await until(origin, ({ progress }) => (progress?.step ?? 0) > 3000);
  run.signal('SIGTERM');
  await run.line(/flush as a first try/);
  writeFileSync(written, '');
  const { code, stderr } = await run.ended;
  const sealed = [...stderr.matchAll(/sealed step (\d+) /g)].map(([, step]) => Number(step));
  expect({ code, sealed }).toEqual({ code: 143, sealed: [3000, expect.any(Number)] });
  expect(sealed[1]).toBeGreaterThan(3000);
});
