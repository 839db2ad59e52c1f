import { expect, it, vi } from 'vitest';
import { WHY_NO_TORCH, whyNoTorch } from './torch.ts';

it('why there is no torch is what was told when it was tried, and else how it is had', () => {
  vi.stubEnv(WHY_NO_TORCH, 'torch could not be installed: no network');
  expect(whyNoTorch()).toBe('torch could not be installed: no network');
  vi.stubEnv(WHY_NO_TORCH, undefined);
  expect(whyNoTorch()).toBe('torch is not installed: `test/frameworks/setup.sh torch` installs it');
  vi.unstubAllEnvs();
});
