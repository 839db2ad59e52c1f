import { expect, it } from 'vitest';
import { completeLockfile } from './complete-lockfile.ts';

it('adds the platform packages that a mirror left out, at the version their parent pins, and keeps the others', () => {
  const known = { version: '1.0.0', optional: true };
  const lockfile = {
    packages: {
      'node_modules/tool': {
        dev: true,
        optionalDependencies: { '@tool/linux-x64-gnu': '1.0.0', '@tool/linux-arm-musleabihf': '1.0.0', '@tool/darwin-arm64': '1.0.0' },
      },
      'node_modules/@tool/linux-x64-gnu': known,
    },
  };
  expect(completeLockfile(lockfile)).toEqual(['@tool/linux-arm-musleabihf', '@tool/darwin-arm64']);
  expect(lockfile.packages).toEqual({
    'node_modules/tool': expect.anything() as unknown,
    'node_modules/@tool/linux-x64-gnu': known,
    'node_modules/@tool/linux-arm-musleabihf': { version: '1.0.0', cpu: ['arm'], libc: ['musl'], os: ['linux'], dev: true, optional: true },
    'node_modules/@tool/darwin-arm64': { version: '1.0.0', cpu: ['arm64'], os: ['darwin'], dev: true, optional: true },
  });
  expect(completeLockfile(lockfile)).toEqual([]);
});
