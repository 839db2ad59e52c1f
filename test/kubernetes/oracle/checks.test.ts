import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../../support/run-process.ts';
import { CHECKS, LONG_RUN, sliceOf } from './checks.ts';

const KEYS = Array.from({ length: 500 }, (_, index) => `commit ${index}`);

it('a slice lies within the cases, is the same for the same key, and another one for another', () => {
  const slices = KEYS.map((key) => sliceOf(LONG_RUN, key, 300));
  expect(KEYS.map((key) => sliceOf(LONG_RUN, key, 300))).toEqual(slices);
  expect(new Set(slices.map(({ seed }) => seed)).size).toBeGreaterThan(400);
  for (const { seed, count } of slices) {
    expect(count).toBe(300);
    expect(seed).toBeGreaterThanOrEqual(LONG_RUN.seed);
    expect(seed + count).toBeLessThanOrEqual(LONG_RUN.seed + LONG_RUN.count);
  }
});

it('the first and the last case are in some slice', () => {
  const seeds = KEYS.map((key) => sliceOf({ seed: 7, count: 10 }, key, 4).seed);
  expect([Math.min(...seeds), Math.max(...seeds)]).toEqual([7, 13]);
});

it('the recorded page is about these cases, of every check, and about the Kubernetes that the tests build', () => {
  const [page, modules] = ['docs/kubernetes-oracles.md', 'test/kubernetes/go/go.mod'].map((path) => readFileSync(join(ROOT, path), 'utf8'));
  expect(page).toContain(`| seeds | ${LONG_RUN.seed} to ${LONG_RUN.seed + LONG_RUN.count - 1} |`);
  expect(page).toContain(`| Kubernetes | ${modules?.match(/k8s\.io\/kubernetes (\S+)/)?.[1]} |`);
  for (const { name } of CHECKS) expect(page).toMatch(new RegExp(`\\*\\*${name}\\*\\*: .* \\| ${LONG_RUN.count} \\| \\d+ \\| 0 \\|`));
});
