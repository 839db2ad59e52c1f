import { printable } from '../../core/printable.ts';
import type { Findings } from './findings.ts';

/**
 * Compares the number in a name with the steps that were found inside. Only for names whose number
 * is the step by the framework's own rule; elsewhere people number as they like.
 */
export function checkNamedStep(name: string, pattern: RegExp, findings: Findings): void {
  const named = pattern.exec(name)?.[1];
  const other = findings.content.steps.find(({ step }) => named !== undefined && step !== Number(named));
  if (named === undefined || other === undefined) return;
  const message = `the name is ${printable(name)}, but ${printable(other.where)} is ${other.step}`;
  findings.add('STEP_NOT_AS_NAMED', { file: other.file, expected: String(Number(named)), found: String(other.step) }, message);
}
