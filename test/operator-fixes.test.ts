import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { FIXES } from './kubernetes/beside/fixes.ts';
import { ROOT } from './support/run-process.ts';

it('docs/operator.md lists every difference from v1 that a test allows', () => {
  const page = readFileSync(join(ROOT, 'docs/operator.md'), 'utf8');
  const listed = page.slice(page.indexOf('### What differs from v1'));
  const rows = new Set(listed.split('\n').map((line) => line.split(' | ')[0]));
  expect(Object.values(FIXES).filter(({ title }) => !rows.has(`| ${title}`))).toEqual([]);
});
