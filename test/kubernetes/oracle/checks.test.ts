import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../../support/run-process.ts';
import { CHECKS, LONG_RUN } from './checks.ts';
import { MUTANTS } from './mutant-list.ts';
import { builtProgram, whyNoOracle } from './oracle.ts';
import { kubernetesVersions, provenance } from './provenance.ts';

const reason = whyNoOracle();
const told = reason === null ? '' : ` (skipped: ${reason})`;

it('every check has deliberate mistakes, each in one place of its code', () => {
  for (const { name } of CHECKS) expect(MUTANTS.filter(({ check }) => check === name).length, name).toBeGreaterThanOrEqual(3);
  for (const { file, was, is } of MUTANTS) {
    const text = readFileSync(join(ROOT, file), 'utf8');
    expect([file, was, text.split(was).length - 1]).toEqual([file, was, 1]);
    expect(is).not.toBe(was);
  }
});

describe('the recorded page', () => {
  const page = readFileSync(join(ROOT, 'docs/proofs/kubernetes-oracles.md'), 'utf8').split('\n');
  const numbersAfter = (start: string): readonly number[] =>
    page.filter((line) => line.startsWith(start)).flatMap((line) => line.slice(start.length).split('|').slice(0, -1).map(Number));

  it('is about the current cases, and about the Kubernetes that the tests build', () => {
    expect(page).toContain(`| seeds | ${LONG_RUN.seed} to ${LONG_RUN.seed + LONG_RUN.count - 1} |`);
    expect(page).toContain(`| Kubernetes | ${kubernetesVersions().join(', ')} |`);
  });

  it('is about the current program and cases; if not, run npm run oracles:long -- --record=docs/proofs/kubernetes-oracles.md', () => {
    const { program, cases } = provenance();
    expect(page).toContain(`| program | ${program} |`);
    expect(page).toContain(`| cases | ${cases} |`);
  });

  it('lists for every check and release that all of its cases agree, and how long it took', () => {
    for (const { name, about, releases } of CHECKS) {
      for (const minor of releases) {
        const [cases, questions, disagreements, seconds] = numbersAfter(`| **${name}**: ${about} | 1.${minor} |`);
        expect([name, minor, cases, disagreements]).toEqual([name, minor, LONG_RUN.count, 0]);
        expect(questions).toBeGreaterThanOrEqual(LONG_RUN.count);
        expect(seconds).toBeGreaterThan(0);
      }
    }
  });

  it('lists for every deliberate mistake in how many cases it is detected', () => {
    for (const { check, minor, belief } of MUTANTS) {
      const [found] = numbersAfter(`| ${check} | 1.${minor} | ${belief} |`);
      expect(found, belief).toBeGreaterThan(0);
    }
  });
});

describe('the program that the page is compared with', () => {
  it.skipIf(reason !== null)(`is the program that the oracle runs, under the name that its build gives it${told}`, () => {
    expect(basename(builtProgram(35))).toBe(provenance().program);
  });
});
