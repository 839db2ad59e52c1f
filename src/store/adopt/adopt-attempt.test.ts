import { describe, expect, it } from 'vitest';
import { manifestsRead } from '../../../test/support/manifests-read.ts';
import { sealSteps, testRun } from '../../../test/support/sealed-run.ts';
import { attemptToSealFor } from './adopt-attempt.ts';

describe('the attempt of an adopted checkpoint', () => {
  it('is found without reading a manifest when the caller names an active attempt', async () => {
    using run = testRun();
    const { attempt } = await sealSteps(run.store, 'g', 1, 2, 3);
    const { fs, read } = manifestsRead();
    expect(attemptToSealFor({ ...run.store, fs }, attempt)).toBe(attempt);
    expect(read).toEqual([]);
    expect(attemptToSealFor({ ...run.store, fs }, undefined)).toBe(attempt);
    expect(read).toHaveLength(3);
  });
});
