import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { toError } from '../../../src/core/errors.ts';
import { ROOT } from '../../support/run-process.ts';
import { calledOff } from '../cluster/called-off.ts';
import { hasEnded } from '../cluster/ended.ts';
import { SYSTEM_PATH, cacheFolder, whyNoNamespaces } from '../cluster/facility.ts';
import { identify, isThere } from '../cluster/process-start.ts';
import { eventually } from '../cluster/wait.ts';
import { USAGE, type Wish, guestScript, passedOn, wishOf } from './command.ts';
import { type MachineFiles, machineCommand } from './kernel.ts';

const SETUP = join(import.meta.dirname, 'setup.sh');
/** The file is sparse: only written blocks take room. */
const SCRATCH_MIB = 64 * 1024;
const LAST_LINES = 20;

async function main(args: readonly string[]): Promise<number> {
  if (args[0] === '--help' || args[0] === '-h') {
    process.stdout.write(USAGE);
    return 0;
  }
  const wish = wishOf(args);
  if (typeof wish === 'string') {
    process.stderr.write(`error: ${wish}\n${USAGE}`);
    return 64;
  }
  const reason = whyNoMachine();
  if (reason !== null) {
    process.stderr.write(`error: ${reason}\n`);
    return 1;
  }
  const signal = calledOff((text) => void process.stderr.write(text));
  const folder = claimFolder();
  try {
    return await runIn(folder, wish, signal);
  } catch (thrown) {
    process.stderr.write(`error: ${toError(thrown).message}\n`);
    return signal.aborted ? 130 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function whyNoMachine(): string | null {
  if (process.arch !== 'x64') return `the kernel of the machine is built for x64, this is ${process.arch}`;
  return whyNoNamespaces();
}

/** Named for this process, so a later process can see that the folder is no longer used. */
function claimFolder(): string {
  const machines = join(cacheFolder(), 'machines');
  mkdirSync(machines, { recursive: true });
  const left = readdirSync(machines).filter((name) => {
    const [pid, start] = name.split('-');
    return !isThere({ pid: Number(pid), start: start ?? null });
  });
  for (const name of left) rmSync(join(machines, name), { recursive: true, force: true });
  const { pid, start } = identify(process.pid);
  const folder = join(machines, `${pid}-${start}`);
  mkdirSync(folder);
  return folder;
}

async function runIn(folder: string, { command, bring }: Wish, signal: AbortSignal): Promise<number> {
  const exchange = join(folder, 'exchange');
  const inExchange = (name: string): string => join(exchange, name);
  mkdirSync(exchange);
  writeFileSync(inExchange('command'), guestScript({ command, bring, folder: ROOT, environment: passedOn(process.env) }));
  const [program, ...args] = machineCommand(prepare(folder, exchange));
  const log = join(folder, 'log');
  const machine = launch(program, args, folder);
  const ended = once(machine, 'exit');
  const end = (): void => void machine.kill('SIGKILL');
  signal.addEventListener('abort', end);
  try {
    const isUp = (): true | null => (existsSync(inExchange('started')) ? true : null);
    await eventually('the machine', isUp, { signal, hopeless: () => (hasEnded(machine) && isUp() === null ? lastWords(log) : null) });
    await ended;
    signal.throwIfAborted();
    if (!existsSync(inExchange('code'))) throw new Error(`the machine ended before the command did: ${lastWords(log)}`);
    for (const [index, file] of bring.entries()) {
      if (existsSync(inExchange(`brought-${index}`))) copyFileSync(inExchange(`brought-${index}`), join(ROOT, file));
    }
    return Number(readFileSync(inExchange('code'), 'utf8'));
  } finally {
    end();
    if (!hasEnded(machine)) await ended;
  }
}

function launch(program: string, args: readonly string[], folder: string): ChildProcess {
  const said = openSync(join(folder, 'log'), 'w');
  // In a process group of its own: Ctrl-C at a terminal reaches this process, which ends the
  // machine.
  const machine = spawn(program, args, { env: { PATH: SYSTEM_PATH, HOME: folder }, stdio: ['ignore', said, said, 1], detached: true });
  closeSync(said);
  return machine;
}

/** Prepares everything that a machine starts with. */
function prepare(folder: string, exchange: string): MachineFiles {
  const unpacked = spawnSync(SETUP, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  if (unpacked.status !== 0) throw new Error("Debian's user-mode-linux cannot be had: the lines above say why");
  const scratch = join(folder, 'scratch');
  writeFileSync(scratch, '', { mode: 0o600 });
  truncateSync(scratch, SCRATCH_MIB * 2 ** 20);
  execFileSync('mkfs.ext4', ['-q', '-m', '0', scratch], { env: { PATH: SYSTEM_PATH } });
  return { init: join(import.meta.dirname, 'init.sh'), tools: unpacked.stdout.trim(), exchange, scratch };
}

/** The end of the log without the kernel's own report after a panic. */
function lastWords(log: string): string {
  const [said = ''] = readFileSync(log, 'utf8').trim().split('\nCPU: ');
  return said === '' ? 'its kernel said nothing' : `its kernel said at last:\n${said.split('\n').slice(-LAST_LINES).join('\n')}`;
}

process.exitCode = await main(process.argv.slice(2));
