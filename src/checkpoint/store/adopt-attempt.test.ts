import { describe, expect, it } from 'vitest';
import { manifestsRead } from '../../../test/support/manifests-read.ts';
import { sealSteps, testRun } from '../../../test/support/sealed-run.ts';
import { attemptToSealFor } from './adopt-attempt.ts';

describe('the attempt that is sealed for', () => {
  it('is told without reading a manifest where it is wanted by its number and at work', async () => {
    using run = testRun();
    const { attempt } = await sealSteps(run.store, 'g', 1, 2, 3);
    const { fs, read } = manifestsRead();
    expect(attemptToSealFor({ ...run.store, fs }, attempt)).toBe(attempt);
    expect(read).toEqual([]);
    expect(attemptToSealFor({ ...run.store, fs }, undefined)).toBe(attempt);
    expect(read).toHaveLength(3);
  });
});
