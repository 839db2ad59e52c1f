import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readLedger } from '../../src/ledger/reader.ts';
import { ROOT } from '../support/run-process.ts';
import { Supervised } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';

const trainer = (...args: readonly string[]): string[] => ['python3', join(ROOT, 'test/support/trainers/evaluates.py'), ...args];

describe('a trainer that evaluates', () => {
  it('between a step and its save does not count that time as write or stall of the save', async () => {
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    const evaluationMs = 300;
    const args = ['--dir', dir, '--every', '2steps'];
    const { code } = await new Supervised({ args, command: trainer('between', String(evaluationMs)) }).ended;
    const saves = readLedger(dir).events.flatMap(({ event }) => (event.kind === 'save-ended' ? [event] : []));
    const ends = saves.map(({ step, outcome, problem }) => ({ step, outcome, problem }));
    expect({ code, ends }).toEqual({ code: 0, ends: [2, 4].map((step) => ({ step, outcome: 'sealed', problem: null })) });
    for (const { totalMs, writeMs, stallMs } of saves) {
      expect(totalMs - (writeMs ?? totalMs)).toBeGreaterThanOrEqual(evaluationMs);
      expect(totalMs - (stallMs ?? totalMs)).toBeGreaterThanOrEqual(evaluationMs);
    }
  });

  it('when a notice arrives still gets a flush, as a try without a prediction', async () => {
    using folder = tempFolder();
    const [dir, isDone] = [join(folder.path, 'run'), join(folder.path, 'done')];
    const run = new Supervised({ args: ['--dir', dir, '--every', '1h', '--grace', '10m'], command: trainer('busy', isDone) });
    await run.line(/^busy$/);
    run.signal('SIGTERM');
    await run.line(/flush as a try: it needs .* from the next step on, the trainer has been busy without steps for .*, and .* are left/);
    writeFileSync(isDone, '');
    const { code } = await run.ended;
    const events = readLedger(dir).events.map(({ event }) => event);
    const decisions = events.filter(({ kind }) => kind === 'decision');
    expect([code, decisions]).toMatchObject([143, [{ outcome: 'flush', numbers: { measured: false, stepRestMs: 0 } }]]);
    // The trainer gets the notice a little later than the log shows it, and may have made some
    // steps.
    const step = expect.toSatisfy((made: number) => made > 5) as number;
    expect(events.filter(({ kind }) => kind === 'flush-ended')).toMatchObject([{ outcome: 'made', step, predictedMs: null }]);
  });
});
