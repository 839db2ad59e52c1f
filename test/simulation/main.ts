import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { counted } from '../../src/core/counted.ts';
import { pageWith } from '../kubernetes/scenario/notes.ts';
import { COMMIT } from '../support/slice.ts';
import { simulate } from './simulate.ts';

/**
 * `npm run simulate -- --seed=7` replays one seed with a log. `--seeds=100000 --from=1` plays many,
 * `--strands=16` on several cores, and `--record=docs/proofs/operator-simulation.md` writes what
 * came out between the marks of that page.
 */
const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    strands: { type: 'string', default: '1' },
    record: { type: 'string' },
  },
});

if (!isMainThread) parentPort?.postMessage(await playSpan(workerData as Span));
else if (values.seed === undefined) await playMany({ from: Number(values.from), seeds: Number(values.seeds) }, Number(values.strands));
else await playOne(Number(values.seed));

async function playOne(seed: number): Promise<void> {
  const { log, faults } = await simulate(seed, { keepsLog: true });
  for (const line of log) console.log(line);
  console.log(faults.length === 0 ? 'all invariants hold' : `${faults.length} faults:\n${faults.join('\n')}`);
  process.exitCode = faults.length === 0 ? 0 : 1;
}

/** Consecutive seeds. */
interface Span {
  readonly from: number;
  readonly seeds: number;
}

async function playSpan({ from, seeds }: Span): Promise<Pick<Played, 'failed' | 'attempts'>> {
  const failed: string[] = [];
  let attempts = 0;
  for (let seed = from; seed < from + seeds; seed++) {
    const outcome = await simulate(seed);
    attempts += outcome.attempts;
    if (outcome.faults.length > 0) failed.push(`seed ${seed}: ${outcome.faults[0]}`);
    if (outcome.faults.length > 0) console.log(failed.at(-1));
  }
  return { failed, attempts };
}

/** Plays a part of the seeds on a thread of its own. */
function playOnThread(span: Span): ReturnType<typeof playSpan> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: span });
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}

async function playMany({ from, seeds }: Span, strands: number): Promise<void> {
  const begunMs = performance.now();
  const each = Math.ceil(seeds / strands);
  const spans = Array.from({ length: strands }, (_, strand) => ({
    from: from + strand * each,
    seeds: Math.max(0, Math.min(each, seeds - strand * each)),
  }));
  const parts = strands === 1 ? [await playSpan({ from, seeds })] : await Promise.all(spans.map(playOnThread));
  const failed = parts.flatMap((part) => part.failed);
  const attempts = parts.reduce((sum, part) => sum + part.attempts, 0);
  const seconds = Math.round((performance.now() - begunMs) / 1000);
  console.log(`${seeds} seeds, ${failed.length} failed, ${attempts} attempts, ${seconds} s`);
  process.exitCode = failed.length === 0 ? 0 : 1;
  if (values.record === undefined) return;
  const table = tableOf({ from, seeds, failed, attempts, seconds, strands });
  writeFileSync(values.record, pageWith(readFileSync(values.record, 'utf8'), 'last run', table));
}

interface Played {
  readonly from: number;
  readonly seeds: number;
  readonly failed: readonly string[];
  readonly attempts: number;
  readonly seconds: number;
  readonly strands: number;
}

/** What a run came to, as the page shows it. */
function tableOf({ from, seeds, failed, attempts, seconds, strands }: Played): string {
  const broken = failed.map((line) => `- ${line}`).join('\n');
  return `| | |
|---|---|
| seeds | ${from} to ${from + seeds - 1} (${seeds}) |
| attempts of jobs | ${attempts} |
| seeds that broke a promise | ${failed.length} |
| time | ${seconds} s in ${counted(strands, 'strand')}, on a machine with ${availableParallelism()} cores |
| commit | ${COMMIT.slice(0, 12)} |
${broken === '' ? '' : `\n${broken}\n`}
    npm run simulate -- --seeds=${seeds} --from=${from}`;
}
