import type { RunOptions } from '../../src/supervisor/settings/run-options.ts';

/** Options of a run in this folder; everything that the test does not ask for is off. */
export function makeRunOptions(
  dir: string,
  { command, graceMs = 30_000, tmp }: { command: readonly string[]; graceMs?: number; tmp: string },
): RunOptions {
  return {
    command,
    dir,
    grace: { graceMs, from: 'option' },
    cadence: { kind: 'auto' },
    cadenceText: 'auto',
    restarts: 0,
    resumeArgument: null,
    trainsAgain: false,
    noticeFile: null,
    retention: null,
    stage: { kind: 'off' },
    terminationLog: null,
    gang: null,
    metadata: null,
    hang: null,
    onHang: 'report',
    status: null,
    ship: null,
    isWatched: false,
    trial: null,
    scheduledAtMs: null,
    node: 'n',
    version: '0',
    env: { PATH: process.env['PATH'], TMPDIR: tmp },
  };
}
