import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Verdict } from '../src/checkpoint/verdict.ts';
import { verifyPaths } from '../src/checkpoint/verify.ts';

interface Fixture {
  readonly id: string;
  readonly path: string;
  readonly format: string;
  readonly step: number | null;
  readonly content: Readonly<Record<'weights' | 'optimizer' | 'scheduler' | 'rng' | 'step', boolean>>;
  readonly deserves: { readonly quick: Verdict; readonly deep: Verdict };
}

const WHOLE = join(import.meta.dirname, 'fixtures', 'whole');
const fixtures = readdirSync(WHOLE).map((id) => JSON.parse(readFileSync(join(WHOLE, id, 'fixture.json'), 'utf8')) as Fixture);
const signal = new AbortController().signal;

describe.each(fixtures)('the whole checkpoint $id', ({ id, path, format, step, content, deserves }) => {
  it.each(['quick', 'deep'] as const)('gets the verdict it deserves, %s', async (level) => {
    const report = await verifyPaths([join(WHOLE, id, path)], { level, signal });
    const checkpoints = report.paths[0]?.checkpoints ?? [];
    const wrong = checkpoints.filter(({ verdict }) => verdict !== deserves[level]);
    expect(wrong.map(({ path, verdict, evidence }) => ({ path, verdict, evidence }))).toEqual([]);
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
