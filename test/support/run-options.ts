import type { RunOptions } from '../../src/supervisor/options.ts';

/** What a supervisor is told for a run in this folder, with everything off that a test does not ask for. */
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
    node: 'n',
    version: '0',
    env: { PATH: process.env['PATH'], TMPDIR: tmp },
  };
}
