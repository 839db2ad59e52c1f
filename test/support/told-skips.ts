import type { Reporter, TestModule } from 'vitest/node';

/** The end of a title whose test, or whose group, needs something that may be missing. */
const REASON = /\(skipped: (.*?)\)(?= > |$)/s;

/**
 * One line for each reason of skipped tests. A skipped test without a reason in its name was not
 * among the chosen tests.
 */
function reasonsOf(skipped: readonly string[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const name of skipped) {
    const reason = REASON.exec(name)?.[1];
    if (reason !== undefined) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  return [...counts].map(([reason, count]) => `${count} ${count === 1 ? 'test' : 'tests'} left out: ${reason}`);
}

/**
 * Prints at the end why tests were skipped, because the titles of skipped tests are not printed.
 */
export class ToldSkips implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests('skipped')]);
    const lines = reasonsOf(tests.map(({ fullName }) => fullName));
    if (lines.length > 0) console.error(`\n${lines.join('\n')}`);
  }
}
