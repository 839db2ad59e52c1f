import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createRng } from '../../src/core/rng.ts';
import { readFixtures } from '../support/fixtures.ts';
import { loadVictim, tryMutant } from './mutant.ts';

/**
 * `npm run fuzz -- --mutants 100000 --seed 7 [--record docs/proofs/fuzz.md]`: mutates every fixture
 * in turn and records what came out.
 */
const { values } = parseArgs({
  options: { mutants: { type: 'string', default: '100000' }, seed: { type: 'string', default: '1' }, record: { type: 'string' } },
});
const total = Number(values.mutants);
const rng = createRng(Number(values.seed));
const victims = readFixtures().map(loadVictim);
const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'holdfast-fuzz-'));
const verdicts = new Map<string, number>();
const faults: string[] = [];
let slowest = 0;

try {
  for (let index = 0; index < total; index++) {
    const victim = victims[index % victims.length];
    if (victim === undefined) throw new Error('there are no fixtures');
    const { what, checkpoints, milliseconds, fault } = await tryMutant(victim, rng.fork(String(index)), join(folder, 'mutant'));
    slowest = Math.max(slowest, milliseconds);
    if (fault !== null) faults.push(`mutant ${index}: ${what}: ${fault}`);
    for (const verdict of checkpoints.length === 0 ? ['nothing recognised'] : checkpoints.map((one) => one.verdict)) {
      verdicts.set(verdict, (verdicts.get(verdict) ?? 0) + 1);
    }
    if (index % 1000 === 999) process.stderr.write(`${index + 1} mutants, ${faults.length} faults\n`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

const text = `# Damaged copies of every fixture

We damage copies of whole checkpoints, which real frameworks wrote, and give them to
\`holdfast verify --deep\`. The page counts faults of \`verify\`. A fault is one of these:

- a reader crashes;
- a verification takes more than 5 s of processor time;
- a copy whose checksummed bytes changed is called \`RESUMABLE\`.

In each mutant one file is damaged in one to three ways: bits, bytes, hostile numbers, ranges that
are zeroed, repeated or removed, a cut at either end, or the whole file removed.

| | |
|---|---|
| mutants | ${total} |
| fixtures | ${victims.length} |
| seed | ${values.seed} |
| faults | ${faults.length} |
| slowest, in processor time | ${Math.round(slowest)} ms |
| peak memory of the process that verified them all | ${Math.round(process.resourceUsage().maxRSS / 1024)} MiB |

| verdict | checkpoints |
|---|---|
${[...verdicts]
  .sort((a, b) => b[1] - a[1])
  .map(([verdict, count]) => `| ${verdict} | ${count} |`)
  .join('\n')}

\`npm run fuzz -- --mutants ${total} --seed ${values.seed} --record docs/proofs/fuzz.md\` makes this page
again. \`npm test\` runs a slice of it.
`;
if (values.record !== undefined) writeFileSync(values.record, text);
console.log(text);
for (const fault of faults.slice(0, 50)) console.log(fault);
process.exitCode = faults.length === 0 ? 0 : 1;
