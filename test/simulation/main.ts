import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { counted } from '../../src/core/counted.ts';
import { COMMIT } from '../support/slice.ts';
import { simulate } from './simulate.ts';

/**
 * `npm run simulate -- --seed=7` replays one seed with a log. `--seeds=100000 --from=1` plays many,
 * `--strands=16` on several cores, and `--record=docs/proofs/operator-simulation.md` writes down
 * what came out.
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
  if (values.record !== undefined) writeFileSync(values.record, page({ from, seeds, failed, attempts, seconds, strands }));
}

interface Played {
  readonly from: number;
  readonly seeds: number;
  readonly failed: readonly string[];
  readonly attempts: number;
  readonly seconds: number;
  readonly strands: number;
}

function page({ from, seeds, failed, attempts, seconds, strands }: Played): string {
  return `# The operator in a simulated cluster

We run the whole operator in a cluster in memory where everything goes wrong, and keep books of our
own beside it. Each seed has one or two random jobs and one or two operators. Pods die in every way,
nodes are lost and come back, some of them long after their peers have failed, users suspend, scale
and delete. The API server fails, lies about conflicts and forgets; watches lag, drop and repeat; an
operator is killed at any of its requests.

| | |
|---|---|
| seeds | ${from} to ${from + seeds - 1} (${seeds}) |
| attempts of jobs | ${attempts} |
| seeds that broke a promise | ${failed.length} |
| time | ${seconds} s in ${counted(strands, 'strand')}, on a machine with ${availableParallelism()} cores |
| commit | ${COMMIT.slice(0, 12)} |

The promises:

- Pods of two attempts never exist at once. Their containers never run at once, unless a user or a
  lost node forced that.
- No attempt ends without a cause: something really happened to a pod that the record names.
- The budgets are exact: each loss is charged once, and costs what the documentation says.
- A pod goes without its kubelet only where its node was lost, and where its job allows it.
- A run succeeds only after its trainer was done, and fails only for a reason. It does not fail for
  an error while the silence of a peer's node may explain that error.
- Once nothing goes wrong any more, every run ends, and the operator writes nothing.
${failed.length === 0 ? '' : `\n## Broken\n\n${failed.map((line) => `- ${line}`).join('\n')}\n`}
## Again

    npm run simulate -- --seeds=${seeds} --from=${from}
    npm run simulate -- --seed=7        # one seed, with a log

CI plays the seeds 1 to 1000, and nine planted bugs, each of which it must find. Two other bugs
escaped when we planted them: an operator that deletes a pod without its uid as a precondition, and
one that believes an empty list of pods before the next attempt. Unit tests hold these two.
`;
}
