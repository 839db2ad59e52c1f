import { type Case, type Minor, type OracleCheck, refusal } from './check.ts';
import { type Cases, caseOf } from './checks.ts';
import { askOracle } from './oracle.ts';

export interface CheckRun {
  readonly cases: number;
  readonly questions: number;
  /** Each with the seed that makes the case again. */
  readonly disagreements: readonly string[];
  /** The outcome of each case. */
  readonly outcomes: readonly string[];
}

/** The answers of the real code, for each case of a range. */
export type Answers = readonly (readonly unknown[])[];

/** Asks the real code about random cases and compares the answers with ours. */
export async function runCheck(check: OracleCheck, cases: Cases, minor: Minor): Promise<CheckRun> {
  const run = judge(check, cases, minor, await askAll(check, cases, minor));
  const disagreements: string[] = [];
  for (const each of run.disagreements) if (await isRepeated(check, seedOf(each), minor)) disagreements.push(each);
  return { ...run, disagreements };
}

/** Whether a case that disagreed once disagrees every time. */
async function isRepeated(check: OracleCheck, seed: number, minor: Minor): Promise<boolean> {
  const cases = { seed, count: 1 };
  for (let tries = 1; tries < (check.tries ?? 1); tries++) {
    if (judge(check, cases, minor, await askAll(check, cases, minor)).disagreements.length === 0) return false;
  }
  return true;
}

function seedOf(disagreement: string): number {
  return Number(/, seed (\d+): /.exec(disagreement)?.[1]);
}

/** Asks the real code about all cases of a range. */
export async function askAll(check: OracleCheck, range: Cases, minor: Minor): Promise<Answers> {
  const cases = casesOf(check, range);
  const answers = await askOracle(
    cases.flatMap(({ questions }) => questions),
    { minor, gates: check.gates ?? [] },
  );
  let at = 0;
  return cases.map(({ questions }) => answers.slice(at, (at += questions.length)));
}

/** Compares answers with ours. */
export function judge(check: OracleCheck, range: Cases, minor: Minor, answers: Answers): CheckRun {
  const judged = casesOf(check, range).map((each, index) => {
    const own = answers[index] ?? [];
    return {
      questions: own.length,
      disagreements: each.disagreements(own, minor).map((what) => `${check.name} of 1.${minor}, seed ${range.seed + index}: ${what}`),
      outcome: own.some((answer) => refusal(answer) !== null) ? 'not understood' : each.outcome(own),
    };
  });
  return {
    cases: judged.length,
    questions: judged.reduce((sum, { questions }) => sum + questions, 0),
    disagreements: judged.flatMap(({ disagreements }) => disagreements),
    outcomes: judged.map(({ outcome }) => outcome),
  };
}

function casesOf(check: OracleCheck, { seed, count }: Cases): readonly Case[] {
  return Array.from({ length: count }, (_, index) => caseOf(check, seed + index));
}
