import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { installPytest, passPytest } from '../support/pytest.ts';
import { supportedPythons } from '../support/pythons.ts';
import { ROOT } from '../support/run-process.ts';

describe.each(supportedPythons())('the SDK on %s', (python) => {
  // The first one fetches it, which the test should not have to wait for.
  beforeAll(async () => {
    await installPytest(python);
  });

  it('passes its own tests', async () => {
    const { passed, skipped } = await passPytest(python, { sources: join(ROOT, 'python') });
    expect(passed).toBeGreaterThan(90);
    // Those of the adapters need their frameworks.
    expect(skipped.filter((why) => !/is not (installed )?here: /.test(why))).toEqual([]);
  });
});
