import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { verifyPaths } from '../src/verify/verify.ts';

const ROOT = join(import.meta.dirname, '..');

/** Every key at any depth, but for the free-form keys of `more`. */
function keysOf(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(keysOf);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => (key === 'more' ? [key] : [key, ...keysOf(inner)]));
}

it('every field of the JSON report is documented', async () => {
  const report = await verifyPaths([join(ROOT, 'examples', 'checkpoints')], { level: 'deep', signal: new AbortController().signal });
  const documented = new Set(
    [...readFileSync(join(ROOT, 'docs/reference/verify-json.md'), 'utf8').matchAll(/`([A-Za-z]+)`/g)].map(([, word]) => word),
  );
  const undocumented = [...new Set(keysOf(JSON.parse(JSON.stringify(report))))].filter((key) => !documented.has(key));
  expect(undocumented).toEqual([]);
});
