import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../test/support/temp-folder.ts';
import { bytesBelow, ephemeralLimit, parseQuantity } from './ephemeral-limit.ts';

describe('parseQuantity', () => {
  it.each([
    ['10737418240', 10 * 2 ** 30],
    ['10Gi', 10 * 2 ** 30],
    ['10G', 10e9],
    ['500M\n', 5e8],
    ['2k', 2000],
  ])('reads %j as Kubernetes does', (text, value) => {
    expect(parseQuantity(text)).toEqual({ ok: true, value });
  });

  it.each(['', 'ten', '-1', '1.5', '10Xi'])('refuses %j', (text) => {
    expect(parseQuantity(text).ok).toBe(false);
  });
});

describe('parseQuantity, for all texts', () => {
  it('gives bytes or a reason, and reads back any number of bytes', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const read = parseQuantity(text);
        if (read.ok) expect(read.value).toBeGreaterThanOrEqual(0);
        else expect(read.reason).not.toBe('');
      }),
    );
    fc.assert(
      fc.property(fc.maxSafeNat(), (bytes) => {
        expect(parseQuantity(String(bytes))).toEqual({ ok: true, value: bytes });
      }),
    );
  });
});

describe('ephemeralLimit', () => {
  it('is read from the variable that the downward API sets, or from the file that a variable names', () => {
    using folder = tempFolder();
    const file = join(folder.path, 'limit');
    writeFileSync(file, '2147483648');
    expect(ephemeralLimit({})).toBeNull();
    expect(ephemeralLimit({ HOLDFAST_EPHEMERAL_LIMIT: '1Gi' })).toBe(2 ** 30);
    expect(ephemeralLimit({ HOLDFAST_EPHEMERAL_LIMIT_FILE: file })).toBe(2 ** 31);
  });

  it.each([{ HOLDFAST_EPHEMERAL_LIMIT: 'plenty' }, { HOLDFAST_EPHEMERAL_LIMIT_FILE: '/nowhere/at/all' }])(
    'does not guess: %j is an error',
    (env) => {
      expect(() => ephemeralLimit(env)).toThrow(expect.objectContaining({ code: 'SETTING_INVALID' }));
    },
  );
});

describe('bytesBelow', () => {
  it('counts what files take on disk, in folders of any depth, and follows no links', () => {
    using folder = tempFolder();
    mkdirSync(join(folder.path, 'a/b'), { recursive: true });
    const before = bytesBelow(folder.path);
    writeFileSync(join(folder.path, 'a/b/file'), Buffer.alloc(2 ** 20, 1));
    symlinkSync('/', join(folder.path, 'a/everything'));
    expect(bytesBelow(folder.path) - before).toBeGreaterThanOrEqual(2 ** 20);
    expect(bytesBelow(folder.path) - before).toBeLessThan(2 ** 21);
  });
});
