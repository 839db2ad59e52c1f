import { readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifyPaths } from '../../src/checkpoint/verify.ts';
import { type Fixture, readFixtures, WHOLE } from '../support/fixtures.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { inParallel } from './support/in-parallel.ts';
import { FRAMEWORKS, familyOf, installFrameworks, output } from './support/python.ts';

const committed = readFixtures();
const scratch = tempFolder();
const made = new Map<string, Fixture>();
beforeAll(async () => {
  const pythons = await installFrameworks();
  const makers = [...new Set(committed.map(({ maker }) => `makers/${maker}.py`))];
  await inParallel(makers, 2, (script) => output(pythons.get(familyOf(script)) ?? 'python3', [join(FRAMEWORKS, script), scratch.path]));
  for (const fixture of readFixtures(scratch.path)) made.set(fixture.id, fixture);
});
afterAll(() => scratch[Symbol.dispose]());

describe.each(committed)('$id made afresh', (fixture) => {
  it('is what is committed: facts, values, files, and what verify says', async () => {
    expect(made.get(fixture.id)).toEqual(fixture);
    expect(fileNames(join(scratch.path, fixture.id))).toEqual(fileNames(join(WHOLE, fixture.id)));
    expect(await summary(scratch.path, fixture)).toEqual(await summary(WHOLE, fixture));
  });
});

/** Names without what is random in them. How many pieces a database is split into depends on timing, so each name counts once. */
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
