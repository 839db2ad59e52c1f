import { readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifyPaths } from '../../src/verify/verify.ts';
import { type Fixture, readFixtures, WHOLE } from '../support/fixtures.ts';
import { sliceOfCommit } from '../support/slice.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { inParallel } from './support/in-parallel.ts';
import { FRAMEWORKS, familyOf, HAS_KERNELS_OF_FIXTURES, installFrameworks, output } from './support/python.ts';

const all = readFixtures();
/** Each maker starts a framework of its own, so a commit runs some (`HOLDFAST_WHOLE=1`: all). */
const makers = sliceOfCommit([...new Set(all.map(({ maker }) => maker))], 6);
const committed = all.filter(({ maker }) => makers.has(maker));
/** They train with numpy, whose sums depend on the processor. */
const TRAINED_BY_NUMPY = new Set(['numpy_arrays', 'hdf5_h5py', 'orbax_two_processes']);
const scratch = tempFolder();
const made = new Map<string, Fixture>();
beforeAll(async () => {
  const pythons = await installFrameworks();
  const scripts = [...makers].map((maker) => `makers/${maker}.py`);
  await inParallel(scripts, 2, (script) => output(pythons.get(familyOf(script)) ?? 'python3', [join(FRAMEWORKS, script), scratch.path]));
  for (const fixture of readFixtures(scratch.path)) made.set(fixture.id, fixture);
});
afterAll(() => scratch[Symbol.dispose]());

describe.each(committed)('$id made afresh', (fixture) => {
  const isOurs = HAS_KERNELS_OF_FIXTURES || !TRAINED_BY_NUMPY.has(fixture.maker);
  const skipped = isOurs ? '' : ' (skipped: the processor has no AVX-512, which made the weights)';
  it.skipIf(!isOurs)(`matches the committed facts, values, files and verdict${skipped}`, async () => {
    expect(made.get(fixture.id)).toEqual(fixture);
    expect(fileNames(join(scratch.path, fixture.id))).toEqual(fileNames(join(WHOLE, fixture.id)));
    expect(await summary(scratch.path, fixture)).toEqual(await summary(WHOLE, fixture));
  });
});

/**
 * Returns the names without their random parts. The number of pieces of a database depends on
 * timing, so each name counts once.
 */
function fileNames(folder: string): readonly string[] {
  const files = readdirSync(join(folder, 'data'), { recursive: true, withFileTypes: true }).filter((entry) => !entry.isDirectory());
  const names = files.map((entry) => relative(folder, join(entry.parentPath, entry.name)));
  return [...new Set(names.map((name) => name.replaceAll(/[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}/g, '*')))].sort();
}

async function summary(folder: string, { id, path }: Fixture): Promise<unknown> {
  const { signal } = new AbortController();
  const reports = [];
  for (const level of ['quick', 'deep'] as const) reports.push(await verifyPaths([join(folder, id, path)], { level, signal }));
  return reports.map((report) =>
    report.paths[0]?.checkpoints.map(({ format, step, verdict, content, evidence }) => ({
      format: format?.id,
      step,
      verdict,
      missing: content.missing,
      worldSize: content.worldSize,
      evidence: evidence.map(({ code }) => code),
    })),
  );
}
