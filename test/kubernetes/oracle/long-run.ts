import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { toError } from '../../../src/core/errors.ts';
import { findFacility } from '../cluster/facility.ts';
import type { OracleCheck } from './check.ts';
import { CHECKS, type Cases, LONG_RUN } from './checks.ts';
import { MUTANT_CASES } from './mutant-list.ts';
import { type MutantRun, runMutants } from './mutants.ts';
import { whyNoOracle } from './oracle.ts';
import { type CheckedRun, pageOf } from './page.ts';
import { provenance } from './provenance.ts';
import { type CheckRun, runCheck } from './run-checks.ts';

const USAGE = `npm run oracles:long                              asks Kubernetes' own code about ${LONG_RUN.count} random cases of each kind
npm run oracles:long -- --count=500 --seed=7      about so many, from this seed on
npm run oracles:long -- --record=PATH             also makes the models wrong on purpose, and writes a page about it all; the stored one is docs/kubernetes-oracles.md
`;
const MOST_SHOWN = 20;
const BATCH = 1000;
const GO_MODULES = fileURLToPath(new URL('../go/go.mod', import.meta.url));
const MERGE_MODULE = 'sigs.k8s.io/structured-merge-diff/v6';

interface Wish {
  readonly cases: Cases;
  readonly record: string | undefined;
  readonly isHelp: boolean;
}

async function main(args: readonly string[]): Promise<number> {
  const wish = wishOf(args);
  if (typeof wish === 'string') {
    process.stderr.write(`error: ${wish}\n${USAGE}`);
    return 64;
  }
  if (wish.isHelp) {
    process.stdout.write(USAGE);
    return 0;
  }
  const reason = whyNoOracle();
  if (reason !== null) {
    process.stderr.write(`error: ${reason}\n`);
    return 1;
  }
  const runs: CheckedRun[] = [];
  for (const check of CHECKS) runs.push(await runLong(check, wish.cases));
  const mutants = wish.record === undefined ? [] : await runWrong();
  const date = new Date().toISOString().slice(0, 10);
  const { program, models } = provenance();
  const circumstances = { date, ...versions(), program, models, processors: String(availableParallelism()) };
  if (wish.record !== undefined) writeFileSync(wish.record, pageOf({ cases: wish.cases, circumstances, runs, mutants }));
  return runs.every(({ run }) => run.disagreements.length === 0) && mutants.every(({ found }) => found > 0) ? 0 : 1;
}

async function runWrong(): Promise<readonly MutantRun[]> {
  const mutants = await runMutants(MUTANT_CASES);
  const missed = mutants.filter(({ found }) => found === 0);
  process.stdout.write(`wrong on purpose: ${mutants.length}, of which ${missed.length} were not found out\n`);
  for (const { mutant } of missed) process.stdout.write(`  ${mutant.check}, ${mutant.file}: ${mutant.belief}\n`);
  return mutants;
}

async function runLong(check: OracleCheck, { seed, count }: Cases): Promise<CheckedRun> {
  const started = performance.now();
  const runs: CheckRun[] = [];
  for (let done = 0; done < count; done += BATCH) {
    runs.push(await runCheck(check, { seed: seed + done, count: Math.min(BATCH, count - done) }));
    process.stderr.write(`${check.name}: ${Math.min(done + BATCH, count)} of ${count}\n`);
  }
  const questions = runs.reduce((sum, run) => sum + run.questions, 0);
  const disagreements = runs.flatMap((run) => run.disagreements);
  const seconds = Math.ceil((performance.now() - started) / 1000);
  process.stdout.write(`${check.name}: ${count} cases, ${questions} questions, ${disagreements.length} disagreements, ${seconds} s\n`);
  for (const each of disagreements.slice(0, MOST_SHOWN)) process.stdout.write(`  ${each}\n`);
  return { check, seconds, run: { cases: count, questions, disagreements, outcomes: runs.flatMap(({ outcomes }) => outcomes) } };
}

function versions(): Readonly<Record<string, string>> {
  const merge = readFileSync(GO_MODULES, 'utf8').match(new RegExp(`${MERGE_MODULE} (\\S+)`))?.[1];
  return { Kubernetes: findFacility().version, [MERGE_MODULE]: String(merge), Node: process.version };
}

/** What is wished for, or what is wrong with it. */
function wishOf(args: readonly string[]): Wish | string {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        count: { type: 'string', default: String(LONG_RUN.count) },
        seed: { type: 'string', default: String(LONG_RUN.seed) },
        record: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    });
    const [count, seed] = [Number(values.count), Number(values.seed)];
    if (!Number.isInteger(count) || count <= 0) return `--count=${values.count}: a whole number from 1 on is needed`;
    if (!Number.isInteger(seed) || seed < 0) return `--seed=${values.seed}: a whole number from 0 on is needed`;
    return { cases: { seed, count }, record: values.record, isHelp: values.help };
  } catch (thrown) {
    return toError(thrown).message;
  }
}

process.exitCode = await main(process.argv.slice(2));
