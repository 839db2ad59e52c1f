import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { passPytest } from '../support/pytest.ts';
import { supportedPythons } from '../support/pythons.ts';
import { ROOT } from '../support/run-process.ts';

describe.each(supportedPythons())('the SDK on %s', (python) => {
  it('does what its tests say', async () => {
    const { passed, skipped } = await passPytest(python, { sources: join(ROOT, 'python') });
    expect(passed).toBeGreaterThan(90);
    // Those of the adapters need their frameworks.
    expect(skipped.filter((why) => !/is not (installed )?here: /.test(why))).toEqual([]);
  });
});
