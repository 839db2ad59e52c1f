import { constants } from 'node:os';
import { describe, expect, it } from 'vitest';
import { systemCode } from './errors.ts';

describe('the code of a system error', () => {
  it('is the code that Node gives', () => {
    expect(systemCode(Object.assign(new Error('no space'), { code: 'ENOSPC', errno: -28 }))).toBe('ENOSPC');
  });

  it.each(['EDQUOT', 'ESTALE'] as const)('is %s even though Node has no name for it', (name) => {
    const errno = -constants.errno[name];
    for (const code of ['UNKNOWN', `Unknown system error ${errno}`]) {
      expect(systemCode(Object.assign(new Error('unknown'), { code, errno }))).toBe(name);
    }
  });

  it.each([null, 'ENOENT', new Error('none'), { code: 5 }])('is null for %s', (thrown) => {
    expect(systemCode(thrown)).toBeNull();
  });
});
