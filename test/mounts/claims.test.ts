import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openClaims } from '../../src/remote/claim/claims.ts';
import { realClock } from '../../src/core/clock.ts';
import { systemCode } from '../../src/core/errors.ts';
import { mountTmpfs, whyNoMounts } from '../support/mounts.ts';

const reason = whyNoMounts();

/** The code of a thrown error. */
function failure(act: () => unknown): string | null {
  try {
    act();
    return null;
  } catch (thrown) {
    return systemCode(thrown);
  }
}

it.skipIf(reason !== null)(
  `a claim that fails on a full disk leaves no file behind, and none open${reason === null ? '' : ` (skipped: ${reason})`}`,
  () => {
    using disk = mountTmpfs('size=64k');
    const claims = openClaims(join(disk.path, 'claims'), {
      root: disk.path,
      clock: realClock,
      signal: new AbortController().signal,
      isStrict: true,
    });
    mkdirSync(join(disk.path, 'claims'));
    expect(failure(() => writeFileSync(join(disk.path, 'full'), Buffer.alloc(1 << 20)))).toBe('ENOSPC');
    const before = readdirSync('/proc/self/fd').length;
    for (let tries = 0; tries < 5; tries++) expect(failure(() => claims.tryTake('it'))).toBe('ENOSPC');
    expect(readdirSync('/proc/self/fd')).toHaveLength(before);
    expect(readdirSync(join(disk.path, 'claims'))).toEqual([]);
  },
);
