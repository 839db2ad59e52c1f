import { readFileSync, readdirSync, symlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { tempFolder } from '../../support/temp-folder.ts';
import { findFacility } from './facility.ts';
import { unlessGone } from './gone.ts';
import { keptClusters, removeCluster, removeLeftovers, removeOwnAtOnce } from './leftovers.ts';
import { identify, isThere } from './process-start.ts';
import { eventually } from './wait.ts';

/** A private cache for a test, apart from the clusters of other sessions and of the user. */
export interface OwnCache extends AsyncDisposable {
  readonly path: string;
}

/**
 * Ends every process that was started with this cache and removes every cluster in it, even after a
 * failed test. No other process knows about them.
 */
function ownCache(): OwnCache {
  const folder = tempFolder();
  return {
    path: folder.path,
    [Symbol.asyncDispose]: async () => {
      await endThoseWith(folder.path);
      await inCache(folder.path, () => {
        removeOwnAtOnce();
        return Promise.all([...keptClusters().map(removeCluster), removeLeftovers()]);
      });
      folder[Symbol.dispose]();
    },
  };
}

/** A private cache with all programs built, to start clusters from. */
export function ownCacheWithFacility(): OwnCache {
  const { folder } = findFacility();
  const cache = ownCache();
  symlinkSync(folder, join(cache.path, basename(folder)));
  return cache;
}

async function endThoseWith(cache: string): Promise<void> {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const found = pids.filter((pid) => environmentOf(pid).includes(`HOLDFAST_CACHE=${cache}`)).map((pid) => identify(Number(pid)));
  for (const { pid } of found) unlessGone(() => process.kill(pid, 'SIGKILL'));
  await eventually('the end of those that were started by a test', () => (found.some(isThere) ? null : true));
}

/** The environment of a process; empty when it has ended. */
function environmentOf(pid: string): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0');
  } catch {
    return [];
  }
}

/** Reads the clusters before it returns, because concurrent tests share the environment. */
function inCache<Value>(path: string, work: () => Value): Value {
  const before = process.env['HOLDFAST_CACHE'];
  process.env['HOLDFAST_CACHE'] = path;
  try {
    return work();
  } finally {
    if (before === undefined) delete process.env['HOLDFAST_CACHE'];
    else process.env['HOLDFAST_CACHE'] = before;
  }
}
