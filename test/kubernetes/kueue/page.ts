import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../support/run-process.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { pageWith, recordedOn } from '../scenario/notes.ts';

const PAGE = join(ROOT, 'docs/operator.md');

/** What happened, and how long it took. */
export interface Measured {
  readonly what: string;
  readonly ms: number;
}

/** Writes what was measured into the page. */
export async function writeMeasured(cluster: Cluster, kueue: string, measured: readonly Measured[]): Promise<void> {
  const { version, runtime, cgroups } = await recordedOn(cluster);
  const table = [
    `${kueue}, Kubernetes ${version}, ${runtime.replace('://', ' ')}, on ${new Date().toISOString().slice(0, 10)}:`,
    '',
    '| from | to | seconds |',
    '|---|---|---:|',
    ...measured.map(({ what, ms }) => `| ${what} | ${(ms / 1000).toFixed(1)} |`),
  ].join('\n');
  writeFileSync(PAGE, pageWith(readFileSync(PAGE, 'utf8'), `kueue, cgroup v${cgroups}`, table));
}
