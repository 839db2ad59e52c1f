import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../support/run-process.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { pageWith, recordedOn } from './notes.ts';

const PAGE = join(ROOT, 'docs/operator.md');

/** What came of a gang to which something happened. */
export interface GangRow {
  readonly title: string;
  /** What the TrainingRun calls it. */
  readonly cause: string;
  /** The step after which the next attempt resumed. */
  readonly step: number;
  /** From the noticed end, or the declared loss of a node, until both ranks train. */
  readonly seconds: number;
}

/** A row of the table. */
export function gangRowText({ title, cause, step, seconds }: GangRow): string {
  return `| ${title} | \`${cause}\` | ${step} | ${seconds} |`;
}

/** Writes the rows of a play into the page, beside what they were recorded on. */
export async function writeGangTable(cluster: Cluster, job: string, rows: readonly GangRow[]): Promise<void> {
  const { version, runtime, cgroups } = await recordedOn(cluster);
  const table = [
    `Kubernetes ${version}, ${runtime.replace('://', ' ')}, cgroup v${cgroups}, on ${new Date().toISOString().slice(0, 10)}:`,
    '',
    '| what happened | cause in the TrainingRun | resumed after step | seconds until it trained again |',
    '|---|---|---:|---:|',
    ...rows.map(gangRowText),
  ].join('\n');
  writeFileSync(PAGE, pageWith(readFileSync(PAGE, 'utf8'), `gang ${job}, cgroup v${cgroups}`, table));
}
