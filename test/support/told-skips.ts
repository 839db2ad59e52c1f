import type { Reporter, TestModule } from 'vitest/node';

/** How the titles of tests, or of what they belong to, end that need what may not be there. */
const REASON = /\(skipped: (.*?)\)(?= > |$)/s;

/** What was left out and why, a line for each reason; tests whose names give none were left out by whoever chose among them. */
export function reasonsOf(skipped: readonly string[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const name of skipped) {
    const reason = REASON.exec(name)?.[1];
    if (reason !== undefined) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  return [...counts].map(([reason, count]) => `${count} ${count === 1 ? 'test' : 'tests'} left out: ${reason}`);
}

/** Says at the end why tests were skipped, which stands in titles that are not printed of those. */
export class ToldSkips implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests('skipped')]);
    const lines = reasonsOf(tests.map(({ fullName }) => fullName));
    if (lines.length > 0) console.error(`\n${lines.join('\n')}`);
  }
}
