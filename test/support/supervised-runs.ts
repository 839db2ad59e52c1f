import { afterEach } from 'vitest';
import { Supervised } from './supervised.ts';

/** Starts runs, and ends those that still run after the test. */
export function supervisedRuns(): (options: ConstructorParameters<typeof Supervised>[0]) => Supervised {
  let running: Supervised[] = [];
  afterEach(async () => {
    const left = running;
    running = [];
    await Promise.all(left.map((run) => run.end()));
  });
  return (options) => {
    const run = new Supervised(options);
    running.push(run);
    return run;
  };
}
