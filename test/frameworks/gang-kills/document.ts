import { join } from 'node:path';
import { MOST_LOST, type Tally } from './strike.ts';

/** Where the figures of the last long run lie. */
export const RESULTS = join(import.meta.dirname, 'results.json');

export interface KillResult extends Tally {
  readonly seed: number;
  readonly steps: number;
  readonly seconds: number;
  readonly day: string;
}

/** The page about the last long run. */
export function renderKills(result: KillResult): string {
  const { kills, finished, resumes, lost, faults, byBlow, byWorld, seed, steps, seconds, day } = result;
  const at = (quantile: number): number => lost[Math.min(lost.length - 1, Math.floor(quantile * lost.length))] ?? 0;
  const rows = (counts: Readonly<Record<string, number>>): string =>
    Object.entries(counts)
      .sort(([a], [b]) => a.localeCompare(b))
      .map(([name, count]) => `| ${name} | ${count} |`)
      .join('\n');
  return `# Kills under a real torchrun

Written by \`npm run kills:long\`; not to be edited by hand. The suite \`test/frameworks/gang-kills\` runs a slice of it.

A data-parallel trainer (DistributedDataParallel on gloo, dropout, AdamW) runs under \`holdfast run -- torchrun\` and saves every 40 steps, which here
is a few times a second. It is struck at random moments: some while the launcher and its ranks come up, the others within the first 160
steps. After each blow every byte of the last good checkpoint is compared. Every rank refuses a state that is not of its step. A run that comes to
its end, ${steps} steps, is compared with one that was never interrupted, weights bit for bit, and followed by a new run.

| | |
|---|---|
| kills | ${kills} |
| resumes from a checkpoint | ${resumes} |
| bad resumes, bad checkpoints, steps lost again, other weights | ${faults.length} |
| runs that came to their end and were compared | ${finished} |
| steps that a resume had to make again: median, 95 %, most | ${at(0.5)}, ${at(0.95)}, ${lost.at(-1) ?? 0} |
| most that it may be: the cadence and what is done while one save is sealed | ${MOST_LOST} |
| day, seed, time | ${day}, ${seed}, ${seconds} s |

| what was done | times |
|---|---|
${rows(byBlow)}

| ranks | kills |
|---|---|
${rows(byWorld)}

When the supervisor alone is killed its trainer goes on, without anybody to save for it; it is ended when the next life has begun, so that both
are there for a while. All ranks are on one machine; several nodes are held by the suites \`test/supervisor/gang.test.ts\` and
\`test/frameworks/gang.test.ts\`.
`;
}
