import { constants } from 'node:os';
import { describe, expect, it } from 'vitest';
import { systemCode } from './errors.ts';

describe('the code of a system error', () => {
  it('is the one Node gives', () => {
    expect(systemCode(Object.assign(new Error('no space'), { code: 'ENOSPC', errno: -28 }))).toBe('ENOSPC');
  });

  it('is EDQUOT for a used-up quota, which Node has no name for', () => {
    const errno = -constants.errno.EDQUOT;
    expect(systemCode(Object.assign(new Error('unknown'), { code: `Unknown system error ${errno}`, errno }))).toBe('EDQUOT');
  });

  it.each([null, 'ENOENT', new Error('none'), { code: 5 }])('is null for %s', (thrown) => {
    expect(systemCode(thrown)).toBeNull();
  });
});
