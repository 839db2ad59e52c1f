import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { toError } from '../../../src/core/errors.ts';
import { type Minor, type OracleCheck, RELEASES } from './check.ts';
import { CHECKS, type Cases, LONG_RUN } from './checks.ts';
import { MUTANT_CASES } from './mutant-list.ts';
import { type MutantRun, runMutants } from './mutants.ts';
import { buildProgram, whyNoOracle } from './oracle.ts';
import { type CheckedRun, pageOf } from './page.ts';
import { kubernetesVersions, provenance } from './provenance.ts';
import { type CheckRun, runCheck } from './run-checks.ts';

const USAGE = `npm run oracles:long                              asks the code of Kubernetes ${RELEASES.map((minor) => `1.${minor}`).join(' and ')} about ${LONG_RUN.count} random cases of each kind
npm run oracles:long -- --count=500 --seed=7      about so many, from this seed on
npm run oracles:long -- --release=35              asks only this release
npm run oracles:long -- --mutants                 only makes our code wrong on purpose, and exits with 1 if a mistake is missed
npm run oracles:long -- --record=PATH             does all of this, and writes a page about it; the stored one is docs/proofs/kubernetes-oracles.md
`;
const MOST_SHOWN = 20;
const BATCH = 1000;
const GO_MODULES = fileURLToPath(new URL('../go/go.mod', import.meta.url));
const MERGE_MODULE = 'sigs.k8s.io/structured-merge-diff/v6';

interface Wish {
  readonly cases: Cases;
  readonly releases: readonly Minor[];
  readonly record: string | undefined;
  readonly isMutantsOnly: boolean;
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
  for (const minor of wish.releases) buildProgram(minor);
  const runs = wish.isMutantsOnly ? [] : await runAll(wish);
  const mutants = wish.isMutantsOnly || wish.record !== undefined ? await runWrong(wish.releases) : [];
  if (wish.record !== undefined) writeFileSync(wish.record, pageOf({ cases: wish.cases, circumstances: circumstances(), runs, mutants }));
  return runs.every(({ run }) => run.disagreements.length === 0) && mutants.every(({ found }) => found > 0) ? 0 : 1;
}

async function runAll({ releases, cases }: Wish): Promise<readonly CheckedRun[]> {
  const runs: CheckedRun[] = [];
  for (const minor of releases) {
    for (const check of CHECKS) if (check.releases.includes(minor)) runs.push(await runLong(check, cases, minor));
  }
  return runs;
}

async function runWrong(releases: readonly Minor[]): Promise<readonly MutantRun[]> {
  const mutants = await runMutants(MUTANT_CASES, releases);
  const missed = mutants.filter(({ found }) => found === 0);
  process.stdout.write(`wrong on purpose: ${mutants.length}, of which ${missed.length} were not found\n`);
  for (const { mutant } of missed) process.stdout.write(`  ${mutant.check}, ${mutant.file}: ${mutant.belief}\n`);
  return mutants;
}

async function runLong(check: OracleCheck, { seed, count }: Cases, minor: Minor): Promise<CheckedRun> {
  const started = performance.now();
  const runs: CheckRun[] = [];
  for (let done = 0; done < count; done += BATCH) {
    runs.push(await runCheck(check, { seed: seed + done, count: Math.min(BATCH, count - done) }, minor));
    process.stderr.write(`${check.name} of 1.${minor}: ${Math.min(done + BATCH, count)} of ${count}\n`);
  }
  const questions = runs.reduce((sum, run) => sum + run.questions, 0);
  const disagreements = runs.flatMap((run) => run.disagreements);
  const seconds = Math.ceil((performance.now() - started) / 1000);
  process.stdout.write(
    `${check.name} of 1.${minor}: ${count} cases, ${questions} questions, ${disagreements.length} disagreements, ${seconds} s\n`,
  );
  for (const each of disagreements.slice(0, MOST_SHOWN)) process.stdout.write(`  ${each}\n`);
  return { check, minor, seconds, run: { cases: count, questions, disagreements, outcomes: runs.flatMap(({ outcomes }) => outcomes) } };
}

function circumstances(): Readonly<Record<string, string>> {
  const date = new Date().toISOString().slice(0, 10);
  const machine = `${availableParallelism()} processors, load ${loadavg()[0]?.toFixed(1)} at the end`;
  return { date, ...versions(), ...provenance(), machine };
}

function versions(): Readonly<Record<string, string>> {
  const merge = readFileSync(GO_MODULES, 'utf8').match(new RegExp(`${MERGE_MODULE} (\\S+)`))?.[1];
  return { Kubernetes: kubernetesVersions().join(', '), [MERGE_MODULE]: String(merge), Node: process.version };
}

/** The options of the command line, or what is wrong with them. */
function wishOf(args: readonly string[]): Wish | string {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        count: { type: 'string', default: String(LONG_RUN.count) },
        seed: { type: 'string', default: String(LONG_RUN.seed) },
        release: { type: 'string' },
        record: { type: 'string' },
        mutants: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
    const [count, seed] = [Number(values.count), Number(values.seed)];
    if (!Number.isInteger(count) || count <= 0) return `--count=${values.count}: a whole number from 1 on is needed`;
    if (!Number.isInteger(seed) || seed < 0) return `--seed=${values.seed}: a whole number from 0 on is needed`;
    const releases = RELEASES.filter((minor) => values.release === undefined || values.release === String(minor));
    if (releases.length === 0) return `--release=${values.release}: one of ${RELEASES.join(', ')} is needed`;
    if (values.record !== undefined && releases.length < RELEASES.length) return '--record needs all releases: leave --release out';
    return { cases: { seed, count }, releases, record: values.record, isMutantsOnly: values.mutants, isHelp: values.help };
  } catch (thrown) {
    return toError(thrown).message;
  }
}

process.exitCode = await main(process.argv.slice(2));
