import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openSqlite } from '../../src/queue/backends/sqlite/store.ts';
import type { QueueStore } from '../../src/queue/store.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { auditStore } from './audit-store.ts';
import { ITEMS, Life, QUEUE } from './life.ts';

/** The calls with which SQLite writes and syncs; its build uses one of the two syncs. */
const CALLS = ['pwrite64', 'fdatasync', 'fsync'] as const;
type Call = (typeof CALLS)[number];
export const SYSCALL_FAULTS = ['SIGKILL', 'ENOSPC', 'EIO'] as const;
export type SyscallFault = (typeof SYSCALL_FAULTS)[number];

/** A fault at the nth use of a call, from the start of the server. */
export interface SyscallInjection {
  readonly call: Call;
  readonly nth: number;
  readonly fault: SyscallFault;
}

/**
 * Every write and sync of a server while it serves a few items, with the faults that each can have.
 */
export async function planSyscalls(strace: string): Promise<readonly SyscallInjection[]> {
  using folder = tempFolder();
  const trace = join(folder.path, 'trace');
  await live(join(folder.path, 'queue.db'), [strace, '-f', '-qq', '-e', `trace=${CALLS.join()}`, '-o', trace]);
  const lines = readFileSync(trace, 'utf8').split('\n');
  return CALLS.flatMap((call) => {
    const uses = lines.filter((line) => line.includes(` ${call}(`)).length;
    const faults: readonly SyscallFault[] = call === 'pwrite64' ? SYSCALL_FAULTS : ['SIGKILL', 'EIO'];
    return Array.from({ length: uses }, (_, i) => faults.map((fault) => ({ call, nth: i + 1, fault }))).flat();
  });
}

/**
 * Injects a fault, continues with a server without faults, and returns what is wrong at the end.
 */
export async function injectSyscall(
  strace: string,
  { call, nth, fault }: SyscallInjection,
): Promise<{ readonly faults: readonly string[]; readonly wasStruck: boolean }> {
  using folder = tempFolder();
  const db = join(folder.path, 'queue.db');
  const what = fault === 'SIGKILL' ? 'signal=SIGKILL' : `error=${fault}`;
  const trace = join(folder.path, 'trace');
  const injection = [strace, '-f', '-qq', '-e', `trace=${call}`, '-e', `inject=${call}:${what}:when=${nth}`, '-o', trace];
  const acknowledged = await live(db, injection);
  await using store = openSqlite(db);
  const { faults } = await auditStore(store, QUEUE, ITEMS);
  const lost = await findLost(store, acknowledged);
  const unfinished = acknowledged.size === ITEMS.length ? [] : [`${acknowledged.size} of ${ITEMS.length} items came to an end`];
  const struck = readFileSync(trace, 'utf8');
  return {
    faults: [...faults, ...lost, ...unfinished].map((one) => `${fault} at ${call} ${nth}: ${one}`),
    wasStruck: /INJECTED|killed by SIGKILL/.test(struck),
  };
}

/** What is wrong with results that were acknowledged. */
export async function findLost(store: QueueStore, acknowledged: ReadonlyMap<string, string>): Promise<readonly string[]> {
  const queue = await store.findQueue(QUEUE);
  const lost: string[] = [];
  for (const [key, result] of acknowledged) {
    const story = await store.story(queue?.id ?? 0, key);
    const stands = story?.results.map((one) => one.result) ?? [];
    if (stands.length !== 1 || stands[0] !== result) lost.push(`${result} of ${key} was acknowledged, and [${stands.join()}] stands`);
  }
  return lost;
}

/**
 * Takes all items through their life. If the server ends, one without faults follows. Returns the
 * acknowledged results.
 */
async function live(db: string, before: readonly string[]): Promise<Map<string, string>> {
  await using life = new Life({ args: [`--db=${db}`, '--listen=127.0.0.1:0'] });
  await life.start(before);
  await life.push();
  for (let round = 1; await life.work(round); round++);
  return life.acknowledged;
}
