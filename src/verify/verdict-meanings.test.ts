import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { codesByEffect, EVIDENCE_CODES, EVIDENCE_SOURCES } from '../evidence/catalogue.ts';
import { decideVerdict, VERDICTS } from './verdict.ts';
import { VERDICT_MEANINGS } from './verdict-meanings.ts';

const SOURCE = join(import.meta.dirname, '..');

describe('the meaning of a verdict', () => {
  it.each(VERDICTS)('%s names the effect that the rule gives it for', (verdict) => {
    const { effect } = VERDICT_MEANINGS[verdict];
    const effects = new Set(effect === null ? [] : [effect]);
    const hasOptimizer = verdict !== 'WEIGHTS_ONLY';
    expect(decideVerdict({ effects, integrity: verdict === 'RESUMABLE' ? 'checked' : 'none', hasOptimizer })).toBe(verdict);
  });

  it('has sentences and advice', () => {
    for (const { title, explain, advice } of Object.values(VERDICT_MEANINGS)) {
      expect(title).toMatch(/^.{5,80}(?<!\.)$/);
      expect([explain, advice].every((text) => /^[A-Z`].{10,}\.\)?$/s.test(text))).toBe(true);
    }
  });

  it('leads to every code of evidence that decides a verdict', () => {
    const deciding = Object.entries(EVIDENCE_CODES).flatMap(([code, { effect }]) => (isAside(effect) ? [] : [code]));
    const led = Object.values(VERDICT_MEANINGS).flatMap(({ effect }) => (effect === null ? [] : codesByEffect(effect)));
    expect(led.flatMap(({ codes }) => codes).sort()).toEqual(deciding.sort());
  });
});

describe('from a code to the format that says it', () => {
  it.each(EVIDENCE_SOURCES.filter(({ readers }) => readers.length > 0))(
    'every code about $about is in the folders that the catalogue names: $readers',
    ({ readers, codes }) => {
      const text = readers.map((reader) => sourceOf(join(SOURCE, reader))).join('\n');
      expect(Object.keys(codes).filter((code) => !text.includes(`'${code}'`))).toEqual([]);
    },
  );

  it('every code has its place', () => {
    expect(EVIDENCE_SOURCES.flatMap(({ codes }) => Object.keys(codes))).toEqual(Object.keys(EVIDENCE_CODES));
  });
});

function isAside(effect: string): boolean {
  return effect === 'warning' || effect === 'note' || effect === 'security';
}

function sourceOf(folder: string): string {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => /(?<!\.test)\.ts$/.test(name));
  return files.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n');
}
