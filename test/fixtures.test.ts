import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { verifyPaths } from '../src/verify/verify.ts';
import { readFixtures, WHOLE } from './support/fixtures.ts';

const fixtures = readFixtures();
const signal = new AbortController().signal;

describe.each(fixtures)('the whole checkpoint $id', ({ id, path, format, step, content, deserves }) => {
  it.each(['quick', 'deep'] as const)('gets the verdict it deserves, %s', async (level) => {
    const report = await verifyPaths([join(WHOLE, id, path)], { level, signal });
    const checkpoints = report.paths[0]?.checkpoints ?? [];
    const wrong = checkpoints.filter(({ verdict }) => verdict !== deserves[level]);
    expect(wrong.map(({ verdict, evidence }) => ({ verdict, evidence }))).toEqual([]);
    expect(checkpoints.length).toBeGreaterThan(0);
    const [newest] = checkpoints;
    expect(newest?.format?.id).toBe(format);
    expect(newest?.evidence.filter(({ effect }) => effect !== 'note')).toEqual([]);
    if (step !== null) expect(newest?.step).toBe(step);
    const found = newest?.content;
    expect(
      found && {
        weights: found.weights.found,
        optimizer: found.optimizer.found,
        scheduler: found.scheduler.found,
        rng: found.rng.found,
        step: found.step.found,
      },
    ).toEqual(content);
  });
});
