import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT, runProcess } from '../support/run-process.ts';

it('the try-out on a laptop kills a worker every second, and ends with one result for each of 200 items', async () => {
  const { code, stdout, stderr } = await runProcess(join(ROOT, 'examples/queue/try.sh'), []);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(stdout).toMatch(/^ {2}interruptions: .* lost with their workers, at most .* of work done again$/m);
  expect(stdout).toMatch(/^200 results of 200 items after [1-9]\d* kills$/m);
});
