import { existsSync, lstatSync, readFileSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Place, Subject } from './faults.ts';
import { type Fixture, readFixtures, WHOLE } from './fixtures.ts';

const PLACES = join(import.meta.dirname, '..', 'fixtures', 'tensor-places.json');

const OTHER = join(import.meta.dirname, '..', 'fixtures', 'other-step');

/** Every committed fixture, with the facts that faults need. */
export function readSubjects(): readonly Subject[] {
  const places = JSON.parse(readFileSync(PLACES, 'utf8')) as Readonly<Record<string, readonly Place[]>>;
  return readFixtures().map((fixture) => subjectOf(fixture, places[fixture.id] ?? []));
}

function subjectOf(fixture: Fixture, places: readonly Place[]): Subject {
  const folder = join(WHOLE, fixture.id);
  return { fixture, files: filesBelow(folder), places, other: otherSave(fixture.id) ?? otherStepInRun(fixture.id, folder) };
}

function filesBelow(folder: string): ReadonlyMap<string, number> {
  const files = readdirSync(join(folder, 'data'), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    files.map((entry) => join(entry.parentPath, entry.name)).map((path) => [relative(folder, path), lstatSync(path).size] as const),
  );
}

/** The pieces of a later save of the same training, made by test/frameworks/other_step.sh. */
function otherSave(id: string): ReadonlyMap<string, string> | null {
  const folder = join(OTHER, id);
  return existsSync(folder) ? new Map([...filesBelow(folder).keys()].map((file) => [file, join(folder, file)])) : null;
}

/**
 * For runs with several checkpoints: each piece of the newest, with the same piece of an older one.
 */
function otherStepInRun(id: string, folder: string): ReadonlyMap<string, string> | null {
  const renames: Readonly<Record<string, readonly [RegExp, string]>> = {
    'hf-trainer-run': [/\/checkpoint-6\//, '/checkpoint-4/'],
    'tf-manager': [/\/ckpt-300\./, '/ckpt-200.'],
    'orbax-manager': [/\/run\/300\//, '/run/200/'],
    composer: [/-ba4-/, '-ba2-'],
  };
  const rename = renames[id];
  if (rename === undefined) return null;
  const files = filesBelow(folder);
  const pairs = [...files.keys()].map((file) => [file, file.replace(...rename)] as const);
  return new Map(pairs.filter(([file, older]) => file !== older && files.has(older)).map(([file, older]) => [file, join(folder, older)]));
}
