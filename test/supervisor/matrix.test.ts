import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lastGood } from '../../src/checkpoint/store/last-good.ts';
import { readRun } from '../../src/checkpoint/store/store.ts';
import { parseTerminationMessage } from '../../src/domain/termination-message.ts';
import type { EventOf, EventKind } from '../../src/ledger/events.ts';
import { readLedger } from '../../src/ledger/reader.ts';
import { isAlive, type Manner, Supervised, trainerCommand, whyNoNamespace } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';

const MANNERS = ['exits', 'ignores', 'dies', 'hangs', 'daemons'] as const satisfies readonly Manner[];
/**
 * Trainers that end when they are told get more time than they need. The others make the test wait for the deadline, which must do for a save
 * where they make one, after the one that is being sealed, by what saves have taken so far: also on a machine that has much else to do.
 */
function graceOf(manner: (typeof MANNERS)[number], kind: 'sdk' | 'bare'): string {
  if (manner !== 'ignores' && manner !== 'hangs') return '30s';
  if (kind === 'bare') return '2s';
  return manner === 'ignores' ? '30s' : '15s';
}

const CASES = (['direct', 'shell'] as const).flatMap((through) =>
  (['sdk', 'bare'] as const).flatMap((kind) => MANNERS.map((manner) => ({ through, kind, manner }))),
);

function eventsOf<Kind extends EventKind>(run: string, kind: Kind): readonly EventOf<Kind>[] {
  return readLedger(run).events.flatMap(({ event }) => (event.kind === kind ? [event as EventOf<Kind>] : []));
}

describe.each([{ isFirst: false }, { isFirst: true }])('SIGTERM to a run (as PID 1: $isFirst)', ({ isFirst }) => {
  const skipped = isFirst && whyNoNamespace() !== null;
  it.skipIf(skipped).concurrent.each(CASES)(
    'of a trainer that $manner ($through, $kind) ends as the contract says',
    { timeout: 120_000 },
    async ({ through, kind, manner }) => {
      using folder = tempFolder();
      const [dir, message] = [join(folder.path, 'run'), join(folder.path, 'message')];
      const run = new Supervised({
        args: ['--dir', dir, '--every', '3steps', '--grace', graceOf(manner, kind), '--termination-log', message],
        command: trainerCommand(manner, kind, { through }),
        isFirst,
      });
      await run.line(/^ready/);
      // What is handed over is being sealed; a trainer that hangs makes no more.
      if (kind === 'sdk') await run.line(/sealed step 3 /);
      const daemon = manner === 'daemons' ? Number((await run.line(/^daemon/)).split(' ')[1]) : null;
      run.signal('SIGTERM');
      const { code, stderr } = await run.ended;
      expect({ code, stderr }).toEqual({ code: 143, stderr: expect.stringContaining('interrupted, resumable') as string });

      const good = (await lastGood(readRun(dir))).checkpoint?.manifest.step ?? null;
      const [end] = eventsOf(dir, 'attempt-ended');
      expect(end).toMatchObject({ exitCode: 143, end: 'interrupted', cause: 'sigterm', lastGoodStep: good });
      expect(eventsOf(dir, 'notice')).toMatchObject([{ cause: 'sigterm', terminating: true }]);
      const said = parseTerminationMessage(readFileSync(message, 'utf8'));
      expect(said).toMatchObject({ ok: true, value: { provisional: false, exitCode: 143, lastGoodStep: good } });

      const flushes = eventsOf(dir, 'flush-ended').map(({ outcome }) => outcome);
      if (kind === 'bare') expect([good, flushes]).toEqual([null, []]);
      else if (manner === 'hangs') expect([good, flushes]).toEqual([3, ['abandoned']]);
      else {
        expect(flushes).toEqual(['made']);
        expect(good).toBeGreaterThanOrEqual(5);
      }
      if (daemon !== null && !isFirst) expect(isAlive(daemon)).toBe(false);
    },
  );
});
