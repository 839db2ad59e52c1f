import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeRunOptions } from '../../../test/support/run-options.ts';
import { tempFolder } from '../../../test/support/temp-folder.ts';
import { openRun, type OpenStore } from '../../store/folder/store.ts';
import { realClock } from '../../core/clock.ts';
import type { LedgerEvent } from '../../ledger/events.ts';
import { RunLog } from '../base/run-log.ts';
import { endOrphans, findOrphans } from './orphan-trainers.ts';

const OBEDIENT = 'echo ready; exec sleep 1000';
const STUBBORN = `trap '' TERM; echo ready; while :; do sleep 1; done`;
/**
 * The supervisor signals the launcher first, which ends its worker by itself. A worker that gets
 * the signal too would print it.
 */
const LAUNCHER = `trap 'kill -9 $!; exit 0' TERM; sh -c "trap 'echo told; exit' TERM; echo ready; while :; do sleep 0.05; done" & wait`;

let folder: ReturnType<typeof tempFolder>;
let store: OpenStore;
let children: ChildProcess[];
let told: string[];
let notes: LedgerEvent[];

beforeEach(() => {
  folder = tempFolder();
  mkdirSync(join(folder.path, 'run'));
  store = openRun(join(folder.path, 'run'));
  [children, told, notes] = [[], [], []];
});

afterEach(async () => {
  for (const child of children) if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
  folder[Symbol.dispose]();
});

/** The identity of this process, but with a start time that no process has. */
const dead = (): string => (store.owner ?? '').replace(/\.\d+$/, '.0');

/** The environment of a trainer of attempt 3 whose supervisor has died. */
const marks = (): Record<string, string> => ({
  HOLDFAST_RUN: store.run,
  HOLDFAST_DIR: store.path,
  HOLDFAST_ATTEMPT: '3',
  HOLDFAST_SUPERVISOR: dead(),
});

/** Starts a process in a session of its own, as trainers run. */
async function start(script: string, env: Record<string, string>): Promise<ChildProcess> {
  const child = spawn('sh', ['-c', script], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  children.push(child);
  await once(child.stdout, 'data');
  return child;
}

/** Resolves to the signal or code with which it ended. */
async function endOf(child: ChildProcess): Promise<string | number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return child.signalCode ?? child.exitCode;
}

function end({ graceMs = 600_000, restart = 0, signal = new AbortController().signal } = {}): Promise<void> {
  const say = (text: string): unknown => told.push(text);
  const log = new RunLog({ dir: store.path, node: 'n', clock: realClock, terminationLog: '/dev/null', say, shout: say });
  log.listen((event) => notes.push(event));
  const options = makeRunOptions(store.path, { command: ['true'], graceMs, tmp: folder.path });
  return endOrphans({ options, store, log, restart }, signal);
}

describe.skipIf(process.platform !== 'linux')('a trainer that has outlived its supervisor', () => {
  it('gets SIGTERM before another trainer starts, with a warning and a note in the ledger', async () => {
    const child = await start(OBEDIENT, marks());
    await end();
    expect(await endOf(child)).toBe('SIGTERM');
    const sentence = `the trainer of attempt 3 (process ${child.pid}) survived its supervisor, which was killed; Holdfast ends it before it starts another trainer`;
    expect(told).toEqual([`warning: ${sentence}`, 'the leftover trainer has ended']);
    expect(notes).toEqual([{ kind: 'note', level: 'warning', code: null, sentence }]);
  });

  it('is found even if it reached the run folder through a symbolic link', async () => {
    symlinkSync(store.path, join(folder.path, 'link'));
    const child = await start(OBEDIENT, { ...marks(), HOLDFAST_DIR: join(folder.path, 'link') });
    await end();
    expect(await endOf(child)).toBe('SIGTERM');
  });

  it('is left to its launcher, which gets SIGTERM first', async () => {
    const launcher = await start(LAUNCHER, marks());
    let heard = '';
    launcher.stdout?.on('data', (text: Buffer) => (heard += text.toString()));
    await end();
    expect([await endOf(launcher), findOrphans(store), heard]).toEqual([0, [], '']);
  });

  it('is killed if it does not end in time', async () => {
    const child = await start(STUBBORN, marks());
    await end({ graceMs: 50 });
    expect(await endOf(child)).toBe('SIGKILL');
    expect(told.at(-1)).toBe('warning: the leftover trainer did not end within 50ms and was killed');
  });

  it('is killed at once if this run itself has to end', async () => {
    const child = await start(STUBBORN, marks());
    await end({ signal: AbortSignal.abort(new Error('told to end')) });
    expect(await endOf(child)).toBe('SIGKILL');
    expect(told.at(-1)).toContain('did not end at once and was killed');
  });

  it('is not searched for by a supervisor that restarts its own trainer', async () => {
    const child = await start(OBEDIENT, marks());
    await end({ restart: 1 });
    expect([findOrphans(store).map(({ pid }) => pid), told]).toEqual([[child.pid], []]);
  });

  it('is left alone if its supervisor lives or is unknown, or if it belongs to another run or a copy', async () => {
    cpSync(store.path, join(folder.path, 'copy'), { recursive: true });
    const elsewhere = dead().replace(/^[^.]+/, 'another-boot');
    const others: Record<string, string>[] = [
      { ...marks(), HOLDFAST_SUPERVISOR: store.owner ?? '' },
      { ...marks(), HOLDFAST_SUPERVISOR: elsewhere },
      { ...marks(), HOLDFAST_SUPERVISOR: '' },
      { ...marks(), HOLDFAST_SUPERVISOR: '1' },
      { ...marks(), HOLDFAST_RUN: 'another' },
      { ...marks(), HOLDFAST_DIR: join(folder.path, 'copy') },
      { ...marks(), HOLDFAST_DIR: join(folder.path, 'nowhere') },
      { HOLDFAST_DIR: store.path },
    ];
    const alive = await Promise.all(others.map((env) => start(OBEDIENT, env)));
    await end();
    expect(told).toEqual([]);
    expect(alive.map(({ exitCode, signalCode }) => [exitCode, signalCode])).toEqual(others.map(() => [null, null]));
  });
});
