import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { runProcess } from './run-process.ts';
import { whyNoNamespace } from './supervised.ts';

const START = join(import.meta.dirname, 'first-systemd.sh');
const env = { PATH: process.env['PATH'] };

/** Why no systemd can be started here, or null. */
export function whyNoSystemd(): string | null {
  const reason = whyNoNamespace();
  if (reason !== null) return reason;
  if (!existsSync('/lib/systemd/systemd')) return 'there is no systemd';
  return readFileSync('/proc/filesystems', 'utf8').includes('cgroup2') ? null : 'the kernel has no unified control groups';
}

/** A real systemd with the test's own units, as the first process of its namespaces. */
export class Systemd implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #group = `holdfast-test-${process.pid}`;

  constructor(units: string, target: string) {
    const namespaces = ['--mount', '--pid', '--uts', '--fork', '--kill-child', '--mount-proc', '--propagation', 'private'];
    this.#child = spawn('unshare', [...namespaces, START, units, this.#group, target], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Runs a systemctl command inside its namespaces. */
  async ctl(...args: readonly string[]): Promise<string> {
    const pid = this.#pid();
    if (pid === null) throw new Error('systemd has not started');
    const { code, stdout, stderr } = await runProcess('nsenter', ['--target', pid, '--mount', '--pid', '--cgroup', 'systemctl', ...args], {
      env,
    });
    if (code !== 0) throw new Error(`systemctl ${args.join(' ')}: ${stderr}`);
    return stdout.trim();
  }

  /** Properties of a unit, in the order of the names. */
  async show(unit: string, ...names: readonly string[]): Promise<readonly string[]> {
    const lines = (await this.ctl('show', unit, `--property=${names.join(',')}`)).split('\n');
    return names.map((name) => lines.find((line) => line.startsWith(`${name}=`))?.slice(name.length + 1) ?? '');
  }

  /** Its number in this namespace. */
  #pid(): string | null {
    try {
      const { pid } = this.#child;
      return readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim().split(' ')[0] || null;
    } catch {
      return null;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.isAlive) {
      const closed = once(this.#child, 'close');
      this.#child.kill('SIGKILL');
      await closed;
    }
    // A control group can be removed when its last process has ended.
    const sweep = `mount -t cgroup2 cgroup2 /sys/fs/cgroup; cd /sys/fs/cgroup/"$1" || exit 0; for try in $(seq 500); do find . -depth -type d -exec rmdir {} + 2>/dev/null; cd .. && rmdir "$1" 2>/dev/null && exit 0; cd "$1" || exit 0; sleep 0.02; done`;
    execFileSync('unshare', ['--mount', '--propagation', 'private', 'sh', '-c', sweep, 'sh', this.#group], { env, stdio: 'ignore' });
  }
}
