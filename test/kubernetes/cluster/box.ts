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

/** For sockets of device plugins, results of CNI, and logs. */
const OWN_FOLDERS = ['/run', '/var/lib', '/var/log'];

/**
 * Settings that a kubelet would change for the whole machine. Inside the box it finds files of its
 * own, which already hold the values that it wants.
 */
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
  /** Lines of shell that run inside before the box is ready. */
  readonly prepare: readonly string[];
  /** Whether the box outlives the process that made it. */
  readonly isKept: boolean;
  /**
   * Called first, with the process that holds the box. If the maker is killed a moment later, it
   * has already recorded the holder.
   */
  readonly whenHeld: (holder: ProcessIdentity) => void;
}

/** A daemon in the box. */
export interface Daemon {
  readonly name: string;
  readonly log: string;
  /** How it ended; null while it runs. */
  ended(): string | null;
  /** Ends the daemon and waits for its end. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/**
 * Separate namespaces for processes, mounts and network. Everything that is started or mounted
 * inside ends with the first process of the box. Unless the box is kept, that process ends with its
 * maker, however the maker ends: the kernel cleans up.
 */
export class Box {
  readonly holder: ProcessIdentity;
  readonly #init: number;
  readonly #folder: string;
  /** Nothing from the machine's environment, and a home folder that is removed with the box. */
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

  /** The command line that runs a command inside the box. */
  inside(command: readonly string[]): [string, ...string[]] {
    return ['nsenter', '--target', String(this.#init), '--mount', '--net', '--pid', '--ipc', '--uts', '--', ...command];
  }

  /**
   * The command line that runs a command in the box's network, with the machine's files and in the
   * caller's folder.
   */
  inNetwork(command: readonly string[]): readonly string[] {
    return ['nsenter', '--target', String(this.#init), '--net', '--', ...command];
  }

  /** Runs a command inside until it ends, and returns its output. */
  async run(command: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
    const [program, ...args] = this.inside(command);
    const { stdout } = await run(program, args, { cwd: '/', env: { ...this.#environment, ...env }, maxBuffer: OUTPUT_BYTES });
    return stdout;
  }

  /** Starts a daemon inside and logs what it prints. */
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

/** Ends a box by its first process, even if the session that made it was killed. */
export async function endHolder(holder: ProcessIdentity): Promise<void> {
  const left = killHolder(holder);
  await eventually('the end of the processes in a cluster', () => (left.some(isThere) ? null : true));
}

/** Kills the box and returns the processes that end last. */
export function killHolder(holder: ProcessIdentity): readonly ProcessIdentity[] {
  if (!isThere(holder)) return [];
  const [init] = childrenOf(holder.pid).map(identify);
  unlessGone(() => process.kill(holder.pid, 'SIGKILL'));
  return init === undefined ? [holder] : [holder, init];
}

/**
 * Inside the box, the fixed folders of daemons are empty and private, and the machine's settings
 * are read-only.
 */
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
  // Keeps our process alive until the daemon has ended.
  child.ref();
  // `nsenter` waits for the daemon and ends with it. The daemon may not have started yet, or may be
  // about to end.
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
