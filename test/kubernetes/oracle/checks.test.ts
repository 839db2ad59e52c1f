import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../../support/run-process.ts';
import { CHECKS, LONG_RUN, sliceOf } from './checks.ts';
import { MUTANTS } from './mutant-list.ts';
import { builtProgram, whyNoOracle } from './oracle.ts';
import { provenance, withoutComments } from './provenance.ts';

const reason = whyNoOracle();
const told = reason === null ? '' : ` (skipped: ${reason})`;
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

it('every check has mistakes made on purpose, each in one place of its model', () => {
  for (const { name } of CHECKS) expect(MUTANTS.filter(({ check }) => check === name).length, name).toBeGreaterThanOrEqual(3);
  for (const { file, was, is } of MUTANTS) {
    const text = readFileSync(join(ROOT, 'test/kubernetes/oracle', file), 'utf8');
    expect([file, was, text.split(was).length - 1]).toEqual([file, was, 1]);
    expect(is).not.toBe(was);
  }
});

describe('the recorded page', () => {
  const page = readFileSync(join(ROOT, 'docs/kubernetes-oracles.md'), 'utf8').split('\n');
  const numbersAfter = (start: string): readonly number[] =>
    page.filter((line) => line.startsWith(start)).flatMap((line) => line.slice(start.length).split('|').slice(0, -1).map(Number));

  it('is about these cases, and about the Kubernetes that the tests build', () => {
    const modules = readFileSync(join(ROOT, 'test/kubernetes/go/go.mod'), 'utf8');
    expect(page).toContain(`| seeds | ${LONG_RUN.seed} to ${LONG_RUN.seed + LONG_RUN.count - 1} |`);
    expect(page).toContain(`| Kubernetes | ${modules.match(/k8s\.io\/kubernetes (\S+)/)?.[1]} |`);
  });

  it('is about this program and these models: else npm run oracles:long -- --record=docs/kubernetes-oracles.md', () => {
    const { program, models } = provenance();
    expect(page).toContain(`| program | ${program} |`);
    expect(page).toContain(`| models | ${models} |`);
  });

  it('tells of every check what it is about, that all of its cases agree, and how long it took', () => {
    for (const { name, about } of CHECKS) {
      const [cases, questions, disagreements, seconds] = numbersAfter(`| **${name}**: ${about} |`);
      expect([name, cases, disagreements]).toEqual([name, LONG_RUN.count, 0]);
      expect(questions).toBeGreaterThanOrEqual(LONG_RUN.count);
      expect(seconds).toBeGreaterThan(0);
    }
  });

  it('tells of every mistake made on purpose in how many cases it shows', () => {
    for (const { check, belief } of MUTANTS) {
      const [found] = numbersAfter(`| ${check} | ${belief} |`);
      expect(found, belief).toBeGreaterThan(0);
    }
  });
});

describe('what the page is held to', () => {
  it.skipIf(reason !== null)(`is the program that is asked, under the name that its build gives it${told}`, () => {
    expect(basename(builtProgram())).toBe(provenance().program);
  });

  it('is not changed by a comment of its own line', () => {
    const [code, more] = ['const one = 1;', "  const two = '// two';"];
    expect(withoutComments(`/** One. */\n${code}\n\n  /**\n   * Two\n   */\n  // Two.\n${more}\n`)).toBe(`${code}\n${more}`);
    expect(withoutComments('const one = 2;')).not.toBe(withoutComments(code));
  });
});
