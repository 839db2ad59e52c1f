import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cluster } from '../cluster/cluster.ts';
import type { Cause } from './cause.ts';
import { whenEnded, whenHolding, withJob } from './held-run.ts';
import { type Place, jobFor } from './interrupted-run.ts';
import { JOBS } from './objects.ts';

/**
 * The pod's own grace if its node decides: far more than the node grants, so that the result shows
 * which of the two counted.
 */
export const LONG_GRACE_SECONDS = 60;

/**
 * Measures the seconds that a trainer has from SIGTERM to SIGKILL; null when it gets no SIGTERM.
 */
export async function measuredGrace(cluster: Cluster, cause: Cause, { pool, whenReady }: Omit<Place, 'manner'>): Promise<number | null> {
  const asked = cause.grace === 'node' ? { terminationGracePeriodSeconds: LONG_GRACE_SECONDS } : {};
  const wish = { ...jobFor(cause, 'stubborn', pool), podSpec: { ...cause.podSpec, ...asked } };
  return withJob(cluster, wish, async (shared) => {
    const run = await whenHolding(cluster, wish, shared);
    await whenReady?.();
    await cause.interrupt(run);
    await whenEnded(run, !cause.exitCodes.includes(null));
    const seconds = secondsIn(join(shared, 'grace'));
    // This Job is no longer needed. It fails or ends with the next pod, whichever comes first.
    writeFileSync(join(shared, 'go'), '');
    if ((await cluster.api.get(`${JOBS}/${run.job}`)) !== null)
      await cluster.api.patch(`${JOBS}/${run.job}`, { spec: { activeDeadlineSeconds: 1 } });
    await cause.relieve(run);
    return seconds;
  });
}

function secondsIn(path: string): number | null {
  return existsSync(path) ? Number(readFileSync(path, 'utf8')) : null;
}
