import { describe, expect, it } from 'vitest';
import { EXIT_ADVICE } from '../../core/exit-advice.ts';
import { EXIT } from '../../core/exit-codes.ts';
import { POD_FAILURE_POLICY } from './exit-contract.ts';
import { foreignExit, SIGNAL_EXITS } from './foreign-exits.ts';

/** The exit codes below an action in the rules for a Job. */
function codesFor(action: string): readonly number[] {
  const rule = POD_FAILURE_POLICY.split('- action: ').find((text) => text.startsWith(action) && text.includes('onExitCodes'));
  return (/values: \[(.*)\]/.exec(rule ?? '')?.[1] ?? '').split(', ').map(Number);
}

describe('what to do about an exit code', () => {
  it.each(['Ignore', 'FailJob'] as const)('is %s for the codes that the rules for a Job name', (action) => {
    const advised = (Object.keys(EXIT) as (keyof typeof EXIT)[])
      .filter((name) => EXIT_ADVICE[name].job === action)
      .map((name) => EXIT[name]);
    expect(advised).toEqual(codesFor(action));
  });

  it('exists for every code that a process can end with', () => {
    for (let code = 0; code <= 255; code++) {
      const { title, explain, advice } = foreignExit(code);
      expect(title).toMatch(/^.{5,80}(?<!\.)$/);
      expect(explain).toMatch(/\.\)?$/);
      expect(advice).toMatch(/\.$/);
    }
  });

  it('names the signal behind a code above 128, and treats other numbers as the trainer’s own', () => {
    expect(foreignExit(138).title).toContain('SIGUSR1');
    expect(foreignExit(128 + 64).title).toBe('Killed by signal 64');
    for (const code of [2, 42, 128, 193, 255]) expect(foreignExit(code).title).toBe('The trainer’s own exit code');
  });

  it('has one source: the table of signals contains none of Holdfast’s own codes', () => {
    const own: readonly number[] = Object.values(EXIT);
    expect(Object.keys(SIGNAL_EXITS).filter((code) => own.includes(Number(code)))).toEqual([]);
  });
});
