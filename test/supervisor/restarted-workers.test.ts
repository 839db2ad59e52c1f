import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readLedger } from '../../src/ledger/reader.ts';
import { ROOT } from '../support/run-process.ts';
import { Supervised } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';

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

describe('workers that their launcher starts again in the same life', () => {
  it('go on from the last save that was sealed, all of them, and not from where the life began', async () => {
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

  it('are not finished because those before them had said so', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    const run = new Supervised({ args: ['--dir', dir, '--every', '40steps'], command: ['python3', AGAIN, 'finishes', '1000000'] });
    await run.line(/^ready 1/);
    run.signal('SIGTERM');
    const { code, stdout } = await run.ended;
    expect([code, stdout]).toEqual([143, expect.stringContaining(`start 1 0 ${sealedBefore(dir) + 1}`) as string]);
  });
});
