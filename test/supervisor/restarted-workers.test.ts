import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readLedger } from '../../src/ledger/reader.ts';
import type { Status } from '../../src/supervisor/status/status.ts';
import { ROOT } from '../support/run-process.ts';
import { Supervised } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';

/** Asks the status until no rank is there any more. */
async function untilNobodyIsThere(origin: string): Promise<void> {
  for (;;) {
    const { trainer } = (await (await fetch(`${origin}/status`)).json()) as Status;
    if (trainer?.ranks === 0) return;
  }
}

const AGAIN = join(ROOT, 'test/support/trainers/again.py');
const WORLD = 2;

/** The newest step that was sealed before the first of the second workers had attached. */
function sealedBefore(dir: string): number {
  const events = readLedger(dir).events.map(({ event }) => event);
  const attached = events.flatMap(({ kind }, index) => (kind === 'sdk-attached' ? [index] : []));
  expect(attached).toHaveLength(2 * WORLD);
  const first = events.slice(0, attached[WORLD]);
  return Math.max(...first.flatMap((event) => (event.kind === 'save-ended' && event.outcome === 'sealed' ? [event.step] : [])));
}

describe('workers that their launcher restarts in the same attempt', () => {
  it('all resume from the last sealed save, and not from the start of the attempt', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    const steps = 400;
    const run = new Supervised({ args: ['--dir', dir, '--every', '40steps'], command: ['python3', AGAIN, 'dies', String(steps)] });
    const { code, stdout } = await run.ended;
    const start = sealedBefore(dir) + 1;
    const sum = (steps * (steps - 1)) / 2;
    const lines = stdout.split('\n').filter((line) => /^(start 1|finished)/.test(line));
    expect([code, lines.sort()]).toEqual([0, [`finished 0 ${sum}`, `finished 1 ${sum}`, `start 1 0 ${start}`, `start 1 1 ${start}`]]);
    expect(start).toBeGreaterThan(40);
  });

  it('are asked for the save that was advised while no rank was attached', async () => {
    using folder = tempFolder();
    const [dir, go] = [join(folder.path, 'run'), join(folder.path, 'go')];
    const args = ['--dir', dir, '--every', '1h', '--status', '0'];
    const run = new Supervised({ args, command: ['python3', AGAIN, 'pauses', '1000000', go] });
    const [origin = ''] = /http:\/\/[^/]+/.exec(await run.line(/status on http/)) ?? [];
    await run.line(/^between/);
    await untilNobodyIsThere(origin);
    run.signal('SIGUSR1');
    await run.line(/no rank is attached; the first one to attach will be asked to save/);
    writeFileSync(go, '');
    await run.line(/sealed step \d+ /);
    run.signal('SIGTERM');
    expect((await run.ended).code).toBe(143);
    const saves = readLedger(dir).events.flatMap(({ event }) => (event.kind === 'save-started' ? [event.reason] : []));
    expect(saves[0]).toBe('advice');
  });

  it('are not finished just because the workers before them reported it', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    const run = new Supervised({ args: ['--dir', dir, '--every', '40steps'], command: ['python3', AGAIN, 'finishes', '1000000'] });
    await run.line(/^ready 1/);
    run.signal('SIGTERM');
    const { code, stdout } = await run.ended;
    expect([code, stdout]).toEqual([143, expect.stringContaining(`start 1 0 ${sealedBefore(dir) + 1}`) as string]);
  });
});
