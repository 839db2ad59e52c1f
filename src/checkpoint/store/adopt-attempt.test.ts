import { describe, expect, it } from 'vitest';
import { sealSteps, testRun } from '../../../test/support/sealed-run.ts';
import { attemptToSealFor } from './adopt-attempt.ts';
import { realFs } from './durable-fs.ts';
import { MANIFEST_NAME } from './layout.ts';

describe('the attempt that is sealed for', () => {
  it('is told without reading a manifest where it is wanted by its number and at work', async () => {
    using run = testRun();
    const { attempt } = await sealSteps(run.store, 'g', 1, 2, 3);
    const read: string[] = [];
    const fs = {
      ...realFs,
      readFile(path: string) {
        if (path.endsWith(MANIFEST_NAME)) read.push(path);
        return realFs.readFile(path);
      },
    };
    expect(attemptToSealFor({ ...run.store, fs }, attempt)).toBe(attempt);
    expect(read).toEqual([]);
    expect(attemptToSealFor({ ...run.store, fs }, undefined)).toBe(attempt);
    expect(read).toHaveLength(3);
  });
});
