/** Bytes of a large checkpoint; less for a trial run, whose results are not kept. */
export const LARGE_BYTES = fromEnvironment('HOLDFAST_BENCH_BYTES', 4 * 2 ** 30);
const TRIAL_ROUNDS = fromEnvironment('HOLDFAST_BENCH_ROUNDS', 0);

/** Whether sizes or rounds were reduced, so that the results mean nothing. */
export const IS_TRIAL = process.env['HOLDFAST_BENCH_BYTES'] !== undefined || TRIAL_ROUNDS > 0;

export function roundsOr(rounds: number): number {
  return TRIAL_ROUNDS > 0 ? TRIAL_ROUNDS : rounds;
}

function fromEnvironment(name: string, usual: number): number {
  const text = process.env[name];
  if (text === undefined) return usual;
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value <= 0) throw new Error(`${name} is a whole number from 1, not "${text}"`);
  return value;
}
