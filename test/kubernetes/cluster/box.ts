import { type ChildProcess, type StdioOptions, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, openSync, closeSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { hasEnded } from './ended.ts';
import { SYSTEM_PATH } from './facility.ts';
import { unlessGone } from './gone.ts';
import { type ProcessIdentity, identify, isThere } from './process-start.ts';
import { eventually } from './wait.ts';

const run = promisify(execFile);
const OUTPUT_BYTES = 64 << 20;

/** Sockets of device plugins, results of CNI, logs. */
const OWN_FOLDERS = ['/run', '/var/lib', '/var/log'];

/** What a kubelet would set for the whole machine; inside the box it sets these files instead, which hold what it wants. */
const KERNEL_SETTINGS: Readonly<Record<string, string>> = {
  'vm/overcommit_memory': '1',
  'vm/panic_on_oom': '0',
  'kernel/panic': '10',
  'kernel/panic_on_oops': '1',
  'kernel/keys/root_maxkeys': '1000000',
  'kernel/keys/root_maxbytes': '25000000',
};

interface BoxOptions {
  readonly folder: string;
  /** The command that stays as the first process. */
  readonly init: readonly string[];
  /** Lines of shell to be run inside before it is ready. */
  readonly prepare: readonly string[];
  /** Lives on when whoever made it ends. */
  readonly isKept: boolean;
  /** Called with the process that holds it, before anything else is done: whoever is killed a moment later has it written down. */
  readonly whenHeld: (holder: ProcessIdentity) => void;
}

/** A daemon in the box. */
export interface Daemon {
  readonly name: string;
  readonly log: string;
  /** How it ended; null while it runs. */
  ended(): string | null;
  /** Ends it and waits until it has. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/**
 * Namespaces of a cluster's own: processes, mounts and network. Everything that is started and mounted in it is gone with its first process, and
 * unless it is to be kept that one is gone with the process that made it, however that ends: the kernel cleans up, not we.
 */
export class Box {
  readonly holder: ProcessIdentity;
  readonly #init: number;
  readonly #folder: string;
  /** Nothing of the machine's, and a home of its own: what programs keep there goes with it. */
  readonly #environment: Readonly<Record<string, string>>;

  private constructor(holder: number, init: number, folder: string) {
    this.holder = identify(holder);
    this.#init = init;
    this.#folder = folder;
    this.#environment = { PATH: SYSTEM_PATH, HOME: folder };
  }

  static async make({ folder, init, prepare, isKept, whenHeld }: BoxOptions): Promise<Box> {
    mkdirSync(join(folder, 'logs'), { recursive: true });
    const script = ['set -e', ...hideTheMachine(folder), ...prepare, 'echo ready', `exec "$@" > /dev/null`].join('\n');
    const bound = isKept ? [] : ['setpriv', '--pdeathsig', 'KILL'];
    const namespaces = ['unshare', '--mount', '--net', '--pid', '--ipc', '--uts', '--fork', '--kill-child=KILL', '--mount-proc'];
    const line = [...bound, ...namespaces, 'sh', '-c', script, 'sh', ...init];
    const log = openSync(join(folder, 'logs', 'box.log'), 'w');
    const child = spawn('env', line, { cwd: '/', env: { PATH: SYSTEM_PATH }, stdio: ['ignore', 'pipe', log], detached: isKept });
    closeSync(log);
    try {
      if (child.pid !== undefined) whenHeld(identify(child.pid));
    } catch (thrown) {
      child.kill('SIGKILL');
      throw thrown;
    }
    const output = child.stdout as Readable;
    const lines = createInterface({ input: output });
    const isReady = await Promise.race([once(lines, 'line').then(() => true), once(child, 'exit').then(() => false)]);
    if (!isReady)
      throw new Error(`the namespaces of a cluster could not be made: ${readFileSync(join(folder, 'logs', 'box.log'), 'utf8').trim()}`);
    lines.close();
    output.destroy();
    child.unref();
    const pid = child.pid ?? 0;
    return new Box(pid, onlyChild(pid), folder);
  }

  /** The command line that runs this one inside. */
  inside(command: readonly string[]): [string, ...string[]] {
    return ['nsenter', '--target', String(this.#init), '--mount', '--net', '--pid', '--ipc', '--uts', '--', ...command];
  }

  /** The command line that runs this one in its network alone: with the machine's files, in the folder where it is called. */
  inNetwork(command: readonly string[]): readonly string[] {
    return ['nsenter', '--target', String(this.#init), '--net', '--', ...command];
  }

  /** Runs a command inside to its end, and gives its output. */
  async run(command: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
    const [program, ...args] = this.inside(command);
    const { stdout } = await run(program, args, { cwd: '/', env: { ...this.#environment, ...env }, maxBuffer: OUTPUT_BYTES });
    return stdout;
  }

  /** Starts a daemon inside; what it prints is kept in a log. */
  start(name: string, command: readonly string[], env: Readonly<Record<string, string>> = {}): Daemon {
    const log = join(this.#folder, 'logs', `${name}.log`);
    const output = openSync(log, 'a');
    const stdio: StdioOptions = ['ignore', output, output];
    const [program, ...args] = this.inside(command);
    const child = spawn(program, args, { cwd: '/', env: { ...this.#environment, ...env }, stdio, detached: true });
    closeSync(output);
    child.on('error', () => {});
    child.unref();
    return { name, log, ended: () => endOf(child, log), stop: (signal) => stop(child, signal) };
  }
}

/** Ends a box by its first process, also one of a session that was killed. */
export async function endHolder(holder: ProcessIdentity): Promise<void> {
  const left = killHolder(holder);
  await eventually('the end of the processes in a cluster', () => (left.some(isThere) ? null : true));
}

/** Gives the processes that are the last to go. */
export function killHolder(holder: ProcessIdentity): readonly ProcessIdentity[] {
  if (!isThere(holder)) return [];
  const [init] = childrenOf(holder.pid).map(identify);
  unlessGone(() => process.kill(holder.pid, 'SIGKILL'));
  return init === undefined ? [holder] : [holder, init];
}

/** Inside, the folders that daemons write to wherever they are told to live are empty ones of its own, and the machine's settings cannot be changed. */
function hideTheMachine(folder: string): string[] {
  const settings = join(folder, 'kernel-settings');
  mkdirSync(settings, { recursive: true });
  const binds = Object.entries(KERNEL_SETTINGS).map(([path, value]) => {
    const file = join(settings, path.replaceAll('/', '.'));
    writeFileSync(file, `${value}\n`);
    return `if [ -e /proc/sys/${path} ]; then mount --bind '${file}' /proc/sys/${path}; fi`;
  });
  return [...OWN_FOLDERS.map((path) => `mount -t tmpfs tmpfs ${path}`), 'mkdir /run/netns', 'ip link set lo up', ...binds];
}

function endOf(child: ChildProcess, log: string): string | null {
  if (!hasEnded(child)) return null;
  const said = readFileSync(log, 'utf8').trim().split('\n').slice(-5).join('\n');
  return `ended with ${child.signalCode ?? child.exitCode}:\n${said}`;
}

async function stop(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  const { pid } = child;
  if (pid === undefined || hasEnded(child)) return;
  const ended = once(child, 'exit');
  // Whoever waits for nothing else must not end before it.
  child.ref();
  // `nsenter` waits for the daemon, and ends as it ends: it may not have started it yet, and it may be about to end already.
  await eventually('a daemon to be told to end', () => {
    const [daemon] = childrenOf(pid);
    if (daemon === undefined) return hasEnded(child) ? true : null;
    unlessGone(() => process.kill(daemon, signal));
    return true;
  });
  await ended;
}

function onlyChild(pid: number): number {
  const [child] = childrenOf(pid);
  if (child === undefined) throw new Error(`process ${pid} has no child`);
  return child;
}

function childrenOf(pid: number): number[] {
  const text = unlessGone(() => readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim()) ?? '';
  return text === '' ? [] : text.split(' ').map(Number);
}
