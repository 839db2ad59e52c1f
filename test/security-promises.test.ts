import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from './support/run-process.ts';

interface Promised {
  readonly text: string;
  readonly tests: readonly string[];
}

/** The points of the sections with promises, with the tests that each links to. */
function promises(): readonly Promised[] {
  const sections = readFileSync(join(ROOT, 'SECURITY.md'), 'utf8').split(/^## /m);
  return sections
    .filter((section) => section.startsWith('What Holdfast promises'))
    .flatMap((section) => section.split(/\n(?=- |\n)/).filter((part) => part.startsWith('- ')))
    .map((part) => ({
      text: part.slice(2, 80).replaceAll('\n', ' '),
      tests: [...(/\bTests?:([^]*)$/.exec(part)?.[1] ?? '').matchAll(/\]\(([^)]+)\)/g)].map(([, path = '']) => path),
    }));
}

it('each promise of SECURITY.md names a test file that contains at least one test', () => {
  const all = promises();
  expect(all.length).toBeGreaterThan(15);
  const wrong = all.filter(({ tests }) => tests.length === 0 || !tests.every(holdsTests));
  expect(wrong).toEqual([]);
});

function holdsTests(path: string): boolean {
  if (!/(?:\.test|-suite)\.ts$/.test(path)) return false;
  return /^ *(?:it|test)(?:\.\w+)?\(/m.test(readFileSync(join(ROOT, path), 'utf8'));
}
