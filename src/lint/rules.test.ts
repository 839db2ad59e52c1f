import { describe, expect, it } from 'vitest';
import { RULES } from './catalogue.ts';
import { fixAll } from './fix.ts';
import { lint } from './lint.ts';
import type { Example } from './engine/rule.ts';
import type { Source } from './source/source.ts';

const OPTIONS = { codes: null, saveMs: null };

function sourcesOf({ manifest, script }: Example): readonly Source[] {
  return [
    ...(manifest === undefined ? [] : [{ path: 'job.yaml', text: manifest }]),
    ...(script === undefined ? [] : [{ path: 'train.py', text: script }]),
  ];
}

function codesIn(example: Example): readonly string[] {
  const { findings, skips } = lint(sourcesOf(example), OPTIONS);
  expect(skips).toEqual([]);
  return findings.map(({ code }) => code);
}

describe.each(RULES)('the rule $code', (rule) => {
  it('finds its bad example, with a place and a sentence', () => {
    const found = lint(sourcesOf(rule.bad), OPTIONS).findings.filter(({ code }) => code === rule.code);
    expect(found.length).toBeGreaterThan(0);
    for (const { message, start, end } of found) {
      expect(message).toMatch(/^[\p{L}"'$].*\.$/su);
      expect(message).not.toMatch(/undefined|null|NaN|\[object/);
      expect([start.line, start.column].every((one) => one >= 1)).toBe(true);
      expect(end.line).toBe(start.line);
    }
  });

  it('says nothing about its good example', () => {
    expect(codesIn(rule.good)).not.toContain(rule.code);
  });

  it('can be switched off by a comment that says why', () => {
    if (rule.on === 'comment') return;
    const off = `# holdfast-lint: off ${rule.code} we know\n`;
    const sources = sourcesOf(rule.bad).map(({ path, text }) => ({
      path,
      text: text
        .trimStart()
        .replaceAll(/^---\n/gm, `---\n${off}`)
        .replace(/^(?!---)/, off),
    }));
    const { findings, suppressed } = lint(sources, OPTIONS);
    expect(findings.map(({ code }) => code)).not.toContain(rule.code);
    expect(suppressed.filter(({ code }) => code === rule.code).map(({ reason }) => reason)).toContain('we know');
  });

  it('fixes what it can for good: the second fix changes nothing', () => {
    const sources = sourcesOf(rule.bad);
    const canFix = lint(sources, OPTIONS).findings.some(({ code, edits }) => code === rule.code && edits.length > 0);
    if (!canFix) return;
    const fixed = fixAll(sources, OPTIONS, () => true);
    const after = sources.map((source) => fixed.find(({ path }) => path === source.path) ?? source);
    const { findings, skips } = lint(after, OPTIONS);
    expect(skips).toEqual([]);
    expect(findings.filter(({ edits }) => edits.length > 0)).toEqual([]);
    expect(findings.map(({ code }) => code)).not.toContain(rule.code);
    expect(fixAll(after, OPTIONS, () => true)).toEqual([]);
  });
});

describe('the catalogue of rules', () => {
  it('has each code once, with a title and texts for people', () => {
    expect(new Set(RULES.map(({ code }) => code)).size).toBe(RULES.length);
    for (const { code, title, why, fix } of RULES) {
      expect(code).toMatch(/^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$/);
      expect(title, code).toMatch(/^.{5,80}(?<!\.)$/);
      expect(why, code).toMatch(/^[A-Z`0-9].{30,}\.\)?$/s);
      expect(fix, code).toMatch(/^[A-Z].*\.$/s);
    }
  });
});
