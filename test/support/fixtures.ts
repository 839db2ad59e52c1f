import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Verdict } from '../../src/verify/verdict.ts';

/** What a maker says about a whole checkpoint that it wrote with the real framework. */
export interface Fixture {
  readonly id: string;
  readonly maker: string;
  /** What to give to `verify`, below the fixture's folder. */
  readonly path: string;
  readonly format: string;
  readonly step: number | null;
  readonly ranks: number;
  readonly content: Readonly<Record<'weights' | 'optimizer' | 'scheduler' | 'rng' | 'step', boolean>>;
  readonly checksums: 'all' | 'some' | 'none';
  readonly deserves: { readonly quick: Verdict; readonly deep: Verdict };
  readonly digest: string;
  readonly versions: Readonly<Record<string, string>>;
}

export const WHOLE = join(import.meta.dirname, '..', 'fixtures', 'whole');

export function readFixtures(folder = WHOLE): readonly Fixture[] {
  return readdirSync(folder)
    .sort()
    .map((id) => JSON.parse(readFileSync(join(folder, id, 'fixture.json'), 'utf8')) as Fixture);
}
