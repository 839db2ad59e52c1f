import { join } from 'node:path';
import { exceptionFor, isCovered } from './fault-exceptions.ts';
import { type Answer, answerOf, type Damaged, isFound, verifyAll } from './fault-run.ts';
import { WHOLE } from './fixtures.ts';

/** A damaged copy, and the answers of both levels of `verify`. */
export interface Answered {
  readonly damaged: Damaged;
  readonly quick: Answer;
  readonly deep: Answer;
}

/** Asks both levels about copies of one fixture. */
export async function answers(damaged: readonly Damaged[]): Promise<readonly Answered[]> {
  const [{ subject } = { subject: null }] = damaged;
  if (subject === null) return [];
  const wholePath = join(WHOLE, subject.fixture.id, subject.fixture.path);
  const paths = [wholePath, ...damaged.map(({ path }) => path)];
  const [wholeQuick, ...quick] = await verifyAll(paths, 'quick');
  const [wholeDeep, ...deep] = await verifyAll(paths, 'deep');
  if (wholeQuick === undefined || wholeDeep === undefined) throw new Error(`no report on ${wholePath}`);
  return damaged.map((one, index) => ({
    damaged: one,
    quick: answerOf(quick[index] ?? wholeQuick, wholeQuick),
    deep: answerOf(deep[index] ?? wholeDeep, wholeDeep),
  }));
}

/** What is wrong with the answers, with the evidence; empty when they are right. */
export function complaint({ damaged, quick, deep }: Answered): readonly unknown[] {
  const { fault, subject, damage } = damaged;
  const exception = exceptionFor(damaged);
  const owed = exception === null ? owes(damaged) : (`exception: ${exception.instead}` as const);
  const { deserves } = subject.fixture;
  const isSame = quick.verdict === deserves.quick && deep.verdict === deserves.deep;
  const isRight = {
    quick: () => isFound(quick, subject) && isFound(deep, subject),
    deep: () => isFound(deep, subject),
    nothing: () => true,
    mention: () => isFound(quick, subject) || (quick.codes.length > 0 && quick.verdict === deserves.quick),
    tracker: () => quick.codes.some((code) => code.startsWith('TRACKER_')),
    same: () => isSame,
    // Exceptions are asserted too, so that they leave the list when a reader improves.
    'exception: deep': () => !isFound(quick, subject) && isFound(deep, subject),
    'exception: warning': () => isSame && quick.codes.length > 0,
    'exception: nothing': () => isSame && quick.codes.length === 0,
  }[owed]();
  if (isRight) return [];
  const evidence = quick.report.checkpoints.flatMap(({ evidence: found }) => found).map(({ code, message }) => `${code}: ${message}`);
  return [{ fault: fault.id, file: damage.file, owed, quick: quick.verdict, deep: deep.verdict, codes: quick.codes, evidence }];
}

function owes(damaged: Damaged): 'quick' | 'deep' | 'nothing' | 'mention' | 'tracker' | 'same' {
  switch (damaged.fault.kind) {
    case 'structural':
      return 'quick';
    case 'payload':
      return isCovered(damaged) ? 'deep' : 'nothing';
    case 'extra':
      return 'mention';
    case 'tracker':
      return 'tracker';
    case 'benign':
      return 'same';
  }
}
