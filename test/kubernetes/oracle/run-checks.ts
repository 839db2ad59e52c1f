import { createRng } from '../../../src/core/rng.ts';
import type { OracleCheck } from './check.ts';
import { askOracle } from './oracle.ts';

export interface CheckRun {
  readonly cases: number;
  readonly questions: number;
  /** With the seed that makes the case again. */
  readonly disagreements: readonly string[];
}

/** Asks the real code about so many random cases and compares it with what we believe. Each case has a seed of its own, so that one can be asked again. */
export async function runCheck(check: OracleCheck, { seed, count }: { readonly seed: number; readonly count: number }): Promise<CheckRun> {
  const cases = Array.from({ length: count }, (_, index) => check.makeCase(createRng(seed + index).fork(check.name)));
  const answers = await askOracle(cases.flatMap(({ questions }) => questions));
  let at = 0;
  const disagreements = cases.flatMap((each, index) => {
    const own = answers.slice(at, at + each.questions.length);
    at += each.questions.length;
    return each.disagreements(own).map((what) => `${check.name}, seed ${seed + index}: ${what}`);
  });
  return { cases: count, questions: answers.length, disagreements };
}
