import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { awkwardText } from '../../../../test/support/awkward-text.ts';
import { makeLedger } from '../../../../test/support/make-ledger.ts';
import { MEMORY, tempFolder } from '../../../../test/support/temp-folder.ts';
import type { Recorded } from '../../../ledger/events.ts';
import { readLedger } from '../../../ledger/reader.ts';
import { createStyle } from '../../output/style.ts';
import { displayWidth } from '../../output/width.ts';
import { describeEvent } from './describe-event.ts';
import { logReport } from './read-log.ts';
import { type LogLook, renderLog } from './render-log.ts';
import { axisLine, timeAxis } from './time-axis.ts';

const START = Date.UTC(2026, 10, 15, 9, 0, 0);
const LOOK: LogLook = {
  style: createStyle({ stream: {}, env: {}, noColor: true }),
  columns: 100,
  offset: () => 0,
  isAll: false,
  nowMs: START + 110 * 60_000,
};

async function rendered(look: Partial<LogLook> = {}, last: number | null = null): Promise<readonly string[]> {
  using run = tempFolder(MEMORY);
  await makeLedger(run.path, START);
  return renderLog(logReport('runs/gpt2', readLedger(run.path), last), { ...LOOK, ...look });
}

describe('the timeline', () => {
  it('draws a lane per attempt on one axis, and lists the events of each', async () => {
    expect((await rendered()).join('\n')).toMatchInlineSnapshot(`
      "runs/gpt2 · 4 attempts in 1h 48m · 19 saves · 5m of work lost

      attempt  ╷09:00         ╷09:30         ╷10:00          ╷10:30
            1  ├──●─●──●─●──●─●──●?!◆┤                                   interrupted, nothing lost
            2                          ├──●─●──●─●─✗                     failed (1), 3m × 16 lost
            3                                      ├──●─●─!◇┤            interrupted, 2m × 16 lost
            4                                                ├──●─●──●▸  step 11280, silent since 10:48:27

               ● sealed  ? advice to save  ! notice  ◆ flushed  ◇ no flush  ┤ interrupted  ✗ failed
               ▸ no end yet

      attempt 1 · gpu-a, gpu-b · 15 Nov 09:00:00 to 09:43:20, 43m 21s
        09:00:00  started    python train.py --config base.yaml, from the beginning
        09:00:00  trainer    process 4242
        09:05:04  sealed     8 saves, steps 600 to 4800, 4.6s each (slowest 4.9s), 2.4 GiB, stall 310ms
        09:42:35  advice     rebalance recommendation (AWS)
        09:43:15  notice     Spot reclaim (AWS): instance-action terminate, 1m 57s ahead
        09:43:15  grace      1m 57s: Spot reclaim (AWS) names the time: 1m 57s after its notice
        09:43:15  decision   flush: it needs 6.5s (usually 4.5s) and 1m 57s are left
        09:43:20  sealed     step 5040 in 4.2s, 2.4 GiB, stall 310ms
        09:43:20  flush      made: step 5040 in 4.2s (predicted 6.5s), 1m 53s to spare
        09:43:20  trainer    ended: killed by SIGTERM
        09:43:20  end        interrupted, resumable; the trainer ended by SIGTERM (143) · last good step
                             5040 · nothing lost

      attempt 2 · gpu-a, gpu-b · 15 Nov 09:47:20 to 10:10:39, 23m 19s
        09:47:20  started    python train.py --config base.yaml, resumes from step 5040
        09:47:20  trainer    process 4242
        09:52:25  sealed     4 saves, steps 5640 to 7440, 4.8s each (slowest 4.9s), 2.4 GiB, stall 310ms
        10:10:39  trainer    ended: exit code 1
        10:10:39  end        the trainer failed with exit code 1 · last good step 7440 · 3m × 16 ranks
                             lost

      attempt 3 · gpu-c · 15 Nov 10:10:59 to 10:28:14, 17m 14s
        10:10:59  started    python train.py --config base.yaml, resumes from step 7440
        10:10:59  trainer    process 4242
        10:16:04  sealed     3 saves, steps 8040 to 9240, 4.5s each (slowest 4.8s), 2.4 GiB, stall 310ms
        10:28:13  notice     SIGTERM
        10:28:13  grace      2s (a guess): SIGTERM leaves 30s (the default, because no grace was given);
                             shorter, because this may be an eviction, which leaves 2s: the node is short
                             of disk (8 % free, eviction begins at 10 %)
        10:28:13  decision   no flush: a flush needs 6.5s and 2s are left; the last good stays step 9240,
                             2m of work are lost
        10:28:14  trainer    ended: killed by SIGTERM
        10:28:14  end        interrupted, resumable; the trainer ended by SIGTERM (143) · last good step
                             9240 · 2m × 16 ranks lost

      attempt 4 · gpu-c · since 15 Nov 10:31:14
        10:31:14  started    python train.py --config base.yaml, resumes from step 9240
        10:31:14  trainer    process 4242
        10:36:18  sealed     3 saves, steps 9840 to 11040, 4.5s each (slowest 4.8s), 2.4 GiB, stall 310ms
        10:48:27  progress   step 11280, 500ms a step, loss 0.2812"
    `);
  });

  it('shows a superseded attempt without a recorded end as ended, and not as running', async () => {
    using run = tempFolder(MEMORY);
    await makeLedger(run.path, START);
    const ledger = readLedger(run.path);
    const lastOf = (attempt: number): Recorded => ledger.events.findLast((recorded) => recorded.attempt === attempt) as Recorded;
    const events = [...ledger.events, { ...lastOf(4), attempt: 5, atMs: START + 109 * 60_000 }];
    const lines = renderLog(logReport('runs/gpt2', { ...ledger, events }, null), LOOK);
    expect(lines[0]).toMatch(/ · at least 5m of work lost$/);
    expect(lines.find((line) => /^ +4 /.test(line))).toMatch(/† +step 11280, ended without a word$/);
    expect(lines.join('\n')).toContain('† ended without a word');
    expect(lines.join('\n')).toContain('attempt 4 · gpu-c · 15 Nov 10:31:14 to 10:48:27, 17m');
    expect(lines.find((line) => /^ +5 /.test(line))).toMatch(/▸ +step 11280, silent since 10:49:00$/);
  });

  it.each([40, 60, 80, 100, 110])('fits into %i columns', async (columns) => {
    for (const line of await rendered({ columns })) {
      // A path or a word that is longer than the line cannot be broken.
      if (line.includes('runs/gpt2')) continue;
      expect(displayWidth(line)).toBeLessThanOrEqual(Math.max(columns, 53));
    }
  });

  it('shows every save and every line of progress with --all', async () => {
    const lines = await rendered({ isAll: true });
    expect(lines.filter((line) => /  sealed {5}step \d+ in/.test(line))).toHaveLength(19);
    expect(lines.filter((line) => line.includes('  progress   step'))).toHaveLength(42 + 23 + 17 + 17);
  });

  it('is drawn without control characters, whatever times, names and sentences the ledger holds', () => {
    const text = awkwardText({ maxLength: 3000 });
    const atMs = fc.oneof(fc.constantFrom(-8.64e15, 8.64e15, 0), fc.double({ min: -8.64e15, max: 8.64e15, noNaN: true }));
    const recorded = fc.record({ attempt: fc.nat(3), node: text, seq: fc.nat(), atMs, sentence: text });
    fc.assert(
      fc.property(fc.array(recorded, { minLength: 1, maxLength: 12 }), fc.integer({ min: 20, max: 110 }), (events, columns) => {
        const told = events.map(
          ({ sentence, ...where }): Recorded => ({ ...where, event: { kind: 'note', level: 'error', code: sentence, sentence } }),
        );
        const lines = renderLog(logReport('run', { events: told, files: [] }, null), { ...LOOK, columns });
        expect(lines.join('')).not.toMatch(/\p{Cc}/u);
        expect(lines.length).toBeLessThan(events.length * 80 + 40);
      }),
      { numRuns: 50 },
    );
  });

  it('counts a single save in the singular', () => {
    const kinds = { writeMs: null, stallMs: null, copyMs: null, checksumMs: null, commitMs: null, problem: null } as const;
    const event = { kind: 'save-ended', save: 's', step: 5, outcome: 'sealed', bytes: 1, totalMs: 1, ...kinds } as const;
    const events: readonly Recorded[] = [{ attempt: 1, node: 'n', seq: 0, atMs: START, event }];
    expect(renderLog(logReport('run', { events, files: [] }, null), LOOK)[0]).toContain(' · 1 save · ');
  });

  it('reports how many attempts it leaves out', async () => {
    expect((await rendered({}, 1)).at(-1)).toBe('· 3 earlier attempts are not shown; --all shows them');
  });
});

describe('an event', () => {
  it('never throws and never prints a control character, whatever another version wrote', () => {
    const kinds = ['note', 'weather', 'attempt-started', 'notice'];
    fc.assert(
      fc.property(fc.constantFrom(...kinds), fc.dictionary(awkwardText(), awkwardText()), (name, fields) => {
        const { label, text } = describeEvent({ attempt: 1, node: 'a', seq: 1, atMs: 0, event: { kind: 'unknown', name, fields } });
        expect(`${label}${text}`).not.toMatch(/\p{Cc}/u);
      }),
    );
  });

  it.each<[Recorded['event'], string]>([
    [
      { kind: 'note', level: 'warning', code: 'STORE_FULL', sentence: 'the disk\u001b[31m is full' },
      'warning: the disk\\x1b[31m is full [STORE_FULL]',
    ],
    [{ kind: 'sdk-attached', rank: 1, worldSize: 4, python: '3.12', framework: 'torch 2.8' }, 'sdk: rank 1 of 4 attached, torch 2.8'],
    [{ kind: 'save-started', save: 'x', step: 5, reason: 'cadence', predicted: null }, 'save: step 5 begins (cadence)'],
    [{ kind: 'shipped', step: 5, url: 's3://b/p', bytes: 1, totalMs: 2000 }, 'shipped: step 5 to s3://b/p in 2s'],
    [{ kind: 'ship-failed', step: 5, url: 's3://b/p', problem: 'no route' }, 'shipping: to s3://b/p failed: no route'],
    [{ kind: 'notice-withdrawn', cause: 'aws-rebalance', source: 'metadata' }, 'withdrawn: rebalance recommendation (AWS)'],
    [{ kind: 'hang', quietMs: 1, limitMs: 1, sentence: 'no step for 10m' }, 'hang: no step for 10m'],
    [
      { kind: 'save-overdue', save: 'x', step: 5, tookMs: 1, limitMs: 1, predicted: null, sentence: 'sealing step 5 has taken 10m so far' },
      'overdue: sealing step 5 has taken 10m so far',
    ],
    [{ kind: 'cadence-planned', everyMs: 1, everySteps: 1, overhead: 0, sentence: 'every 5m' }, 'cadence: every 5m'],
    [
      { kind: 'flush-ended', outcome: 'abandoned', step: null, tookMs: 5, predictedMs: 1, leftMs: 0, sentence: 'gave the flush up' },
      'no flush: gave the flush up',
    ],
    [
      { kind: 'flush-ended', outcome: 'staged-sealed', step: 7, tookMs: 900, predictedMs: null, leftMs: -100, sentence: '' },
      'flush: staged save sealed: step 7 in 900ms, 100ms late',
    ],
  ])('is described in a few words: %o', (event, line) => {
    const { label, text } = describeEvent({ attempt: 1, node: 'a', seq: 1, atMs: 0, event });
    expect(`${label}: ${text}`).toBe(line);
  });
});

describe('the axis', () => {
  it.each([
    ['a minute', 60_000, '╷09:00:00       ╷09:00:15       ╷09:00:30      ╷09:00:45'],
    ['two hours', 2 * 3_600_000, '╷09:00          ╷09:30          ╷10:00         ╷10:30'],
    ['a day', 24 * 3_600_000, '        ╷12:00          ╷18:00         ╷16 Nov         ╷06:00'],
    ['a month', 30 * 86_400_000, '        ╷19 Nov       ╷26 Nov        ╷3 Dec         ╷10 Dec'],
  ])('has round times over %s', (_, span, line) => {
    expect(axisLine(timeAxis(START, START + span, 64), () => 0).trimEnd()).toBe(line.trimEnd());
  });

  it('never draws beyond its columns, and clamps instants at its ends, whatever the span', () => {
    fc.assert(
      fc.property(fc.nat(4e12), fc.nat(1e12), fc.integer({ min: 10, max: 200 }), (start, span, columns) => {
        const axis = timeAxis(start, start + span, columns);
        expect(displayWidth(axisLine(axis, () => 3_600_000))).toBeLessThanOrEqual(columns);
        expect(axis.columnOf(start - 1e6)).toBe(0);
        expect(axis.columnOf(start + span + 1e6)).toBe(columns - 1);
      }),
    );
  });
});
