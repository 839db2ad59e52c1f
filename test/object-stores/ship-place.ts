import { setTimeout as sleep } from 'node:timers/promises';
import type { ObjectStore } from '../../src/remote/backends/backend.ts';
import { parseLocation } from '../../src/remote/backends/location.ts';
import { openStore } from '../../src/remote/backends/open-store.ts';
import { realClock } from '../../src/core/clock.ts';
import { millis } from '../../src/core/duration.ts';
import { createRng } from '../../src/core/rng.ts';
import { start } from './ship-process.ts';
import { FILES } from './shippable-run.ts';

/** The seeded random numbers of these tests. */
export const rng = createRng(20261115);

/** A store under test: a real server's bucket, or a folder. */
export interface Place {
  readonly base: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Opens the store of an address, with a clock of the test if given. */
export function openAt(url: string, env: Readonly<Record<string, string>>, time: Partial<Record<'now', () => number>> = {}): ObjectStore {
  const location = parseLocation(url);
  if (!location.ok) throw new Error(location.reason);
  const { signal } = new AbortController();
  const memory = { get: () => null, set() {}, delete() {} };
  return openStore(location.value, {
    env: { HOME: '/nonexistent', ...env },
    clock: { ...realClock, now: () => millis(time.now?.() ?? Date.now()) },
    rng: createRng(1),
    signal,
    memory,
  });
}

/** Counts the uploads in progress of every file that a checkpoint may have, and removes them. */
export async function orphans(url: string, env: Place['env'], ...names: readonly string[]): Promise<number> {
  await using store = openAt(url, env);
  let count = await store.removeOldUploads(0, new Set(), async () => true);
  for (const name of names) for (const file of Object.keys(FILES)) count += await store.removeUploads(`${name}/${file}`);
  return count;
}

/** Starts a transfer and kills it some time after its first output. */
export async function killed(args: readonly string[], env: Place['env']): Promise<void> {
  const { child, ended, begun } = start([...args, '--progress=json'], env);
  await begun;
  await sleep(rng.integer(0, 1000));
  child.kill('SIGKILL');
  await ended;
}
