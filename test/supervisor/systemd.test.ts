import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { POD_FAILURE_POLICY } from '../../src/domain/exit/exit-contract.ts';
import { readLedger } from '../../src/ledger/reader.ts';
import { LAUNCHER, ROOT, runProcess } from '../support/run-process.ts';
import { Systemd, whyNoSystemd } from '../support/systemd.ts';
import { tempFolder } from '../support/temp-folder.ts';

const UNIT = readFileSync(join(ROOT, 'examples/systemd/holdfast-run.service'), 'utf8');
const SERVICE = 'holdfast-run.service';
/** Units that every service depends on. Here they are empty. */
const TARGETS = ['sysinit.target', 'basic.target', 'shutdown.target', 'network-online.target'];

const valueOf = (name: string): string => new RegExp(`^${name}=(.*)$`, 'm').exec(UNIT)?.[1] ?? '';

/**
 * The example with the paths and the user of this machine, no delay between two starts, and a
 * trainer that reads its pace from a file.
 */
function unitFor(dir: string, python: string): string {
  const trainer = `${python} ${join(ROOT, 'examples/stdlib/train.py')} 600 \${PACE}`;
  return UNIT.replace(/^User=.*\n/m, `Environment=PATH=${process.env['PATH']} PYTHONDONTWRITEBYTECODE=1\nEnvironmentFile=${dir}/pace\n`)
    .replace(/^WorkingDirectory=.*/m, `WorkingDirectory=${dir}`)
    .replace(/^ExecStart=.*/m, `ExecStart=${LAUNCHER} run --dir=${dir}/run --grace=90s --every=20steps --restarts=3 -- ${trainer}`)
    .replace(/^RestartSec=.*/m, 'RestartSec=0')
    .replace('[Install]', `StandardOutput=append:${dir}/out\nStandardError=append:${dir}/err\n\n[Install]`);
}

interface Stage {
  readonly systemd: Systemd;
  readonly signal: AbortSignal;
  readonly dir: string;
}

/** Waits for a condition elsewhere; the time limit of the test is the bound. */
async function until(isSo: () => boolean | Promise<boolean>, { systemd, signal, dir }: Stage): Promise<void> {
  while (!(await isSo())) {
    if (!systemd.isAlive) throw new Error('systemd has ended');
    if (signal.aborted) throw new Error(`it has not come about:\n${readFileSync(join(dir, 'err'), 'utf8').slice(-4000)}`);
    await pause(50);
  }
}

describe('the unit for systemd', () => {
  it('gives the supervisor its grace before the kill, and maps its exit codes', () => {
    const grace = Number(/--grace=(\d+)s/.exec(valueOf('ExecStart'))?.[1]);
    const stop = Number(/^(\d+)s$/.exec(valueOf('TimeoutStopSec'))?.[1]);
    expect(stop).toBeGreaterThan(grace);
    expect(stop).toBeLessThanOrEqual(grace + 10);
    expect([valueOf('SuccessExitStatus'), valueOf('RestartForceExitStatus')]).toEqual(['143', '143']);
    // The exit codes after which a Job gives up, and the code of a replaced run.
    const hopeless = /FailJob[^[]*\[([^\]]*)\]/.exec(POD_FAILURE_POLICY)?.[1]?.replaceAll(',', '');
    expect(valueOf('RestartPreventExitStatus')).toBe(`5 ${hopeless}`);
    expect(valueOf('KillMode')).toBe('mixed');
  });

  it.skipIf(whyNoSystemd() !== null)(
    'resumes after an interruption and after a kill, and ends when the run is finished',
    async ({ signal }) => {
      using folder = tempFolder();
      const dir = folder.path;
      const units = join(dir, 'units');
      mkdirSync(units);
      mkdirSync(join(dir, 'run'));
      const python = (await runProcess('python3', ['-c', 'import sys; print(sys.executable)'], { env: process.env })).stdout.trim();
      writeFileSync(join(units, SERVICE), unitFor(dir, python));
      for (const target of TARGETS) writeFileSync(join(units, target), '[Unit]\nDefaultDependencies=no\n');
      writeFileSync(join(units, 'test.target'), `[Unit]\nWants=${SERVICE}\n`);
      // Half a minute of training: the interruption comes before the end, even on the slowest
      // machine.
      writeFileSync(join(dir, 'pace'), 'PACE=0.05\n');
      await using systemd = new Systemd(units, 'test.target');
      const stage = { systemd, signal, dir };
      const events = () => readLedger(join(dir, 'run')).events.map(({ attempt, event }) => ({ attempt, event }));
      const hasSealedIn = (attempt: number): boolean =>
        events().some((one) => one.attempt === attempt && one.event.kind === 'save-ended' && one.event.outcome === 'sealed');
      await until(() => hasSealedIn(1), stage);
      await systemd.ctl('kill', '--kill-who=main', '--signal=TERM', SERVICE);
      await until(() => hasSealedIn(2), stage);
      writeFileSync(join(dir, 'pace'), 'PACE=0.001\n');
      await systemd.ctl('kill', '--kill-who=all', '--signal=KILL', SERVICE);
      await until(async () => (await systemd.show(SERVICE, 'ActiveState'))[0] === 'inactive', stage);
      expect(await systemd.show(SERVICE, 'Result', 'NRestarts')).toEqual(['success', '2']);
      const ends = events().flatMap(({ event }) => (event.kind === 'attempt-ended' ? [event.exitCode] : []));
      expect(ends).toEqual([143, 0]);
      const twin = { PATH: process.env['PATH'], PYTHONPATH: join(ROOT, 'python'), PYTHONDONTWRITEBYTECODE: '1' };
      const { stdout } = await runProcess(python, [join(ROOT, 'examples/stdlib/train.py'), '600', '0'], { env: twin });
      expect(readFileSync(join(dir, 'out'), 'utf8').trim().split('\n').at(-1)).toBe(stdout.trim().split('\n').at(-1));
    },
  );
});
