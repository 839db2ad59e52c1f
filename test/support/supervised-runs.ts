import { afterEach } from 'vitest';
import { Supervised } from './supervised.ts';

/** Starts runs; what a test has started and not ended is ended after it. */
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
