import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { readFixtures } from '../support/fixtures.ts';
import { sealFixture } from '../support/seal-fixture.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { FRAMEWORKS, familyOf, installFrameworks, output } from './support/python.ts';

const fixtures = readFixtures();
const makers = [...new Set(fixtures.map(({ maker }) => maker))].sort();

let pythons: ReadonlyMap<string, string>;
beforeAll(async () => {
  pythons = await installFrameworks();
});

describe('a checkpoint that was sealed', () => {
  it.each(makers)('is loaded by %s exactly as before', async (maker) => {
    using scratch = tempFolder();
    const loader = join('loaders', `${maker}.py`);
    const own = fixtures.filter((fixture) => fixture.maker === maker);
    const paths: string[] = [];
    for (const fixture of own) paths.push((await sealFixture(fixture, scratch.path)).path);
    const printed = await output(
      pythons.get(familyOf(loader)) ?? 'python3',
      [join(FRAMEWORKS, loader), '--batch'],
      paths.map((path) => `${path}\n`).join(''),
    );
    const loaded = printed.trimEnd().split('\n');
    expect(loaded.map((line): unknown => JSON.parse(line))).toEqual(own.map(({ digest }) => ({ outcome: 'loaded', digest })));
  });
});
