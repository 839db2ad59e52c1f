import { type OracleCheck, refusal } from './check.ts';
import { type Cases, caseOf } from './checks.ts';
import { askOracle } from './oracle.ts';

export interface CheckRun {
  readonly cases: number;
  readonly questions: number;
  /** With the seed that makes the case again. */
  readonly disagreements: readonly string[];
  /** What came of each case. */
  readonly outcomes: readonly string[];
}

/** Asks the real code about so many random cases and compares it with what we believe. */
export async function runCheck(check: OracleCheck, { seed, count }: Cases): Promise<CheckRun> {
  const cases = Array.from({ length: count }, (_, index) => caseOf(check, seed + index));
  const answers = await askOracle(cases.flatMap(({ questions }) => questions));
  let at = 0;
  const judged = cases.map((each, index) => {
    const own = answers.slice(at, at + each.questions.length);
    at += each.questions.length;
    return {
      disagreements: each.disagreements(own).map((what) => `${check.name}, seed ${seed + index}: ${what}`),
      outcome: own.some((answer) => refusal(answer) !== null) ? 'not understood' : each.outcome(own),
    };
  });
  return {
    cases: count,
    questions: answers.length,
    disagreements: judged.flatMap(({ disagreements }) => disagreements),
    outcomes: judged.map(({ outcome }) => outcome),
  };
}
