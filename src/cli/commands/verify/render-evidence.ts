import type { Effect } from '../../../evidence/codes/kind.ts';
import type { Evidence } from '../../../evidence/evidence.ts';
import { printable } from '../../../core/printable.ts';
import type { Style } from '../../output/style.ts';
import { wrap } from '../../output/table.ts';
import type { Look } from './look.ts';

/** How many findings of one checkpoint are shown; `--json` has all. */
const MAX_SHOWN = 8;

const ORDER: readonly Effect[] = ['in-progress', 'corrupt', 'zombie', 'partial', 'security', 'unreadable', 'warning', 'note'];

/** Renders the evidence, the decisive findings first, each with its code, place and numbers. */
export function renderEvidence(evidence: readonly Evidence[], more: Readonly<Record<string, number>>, look: Look): readonly string[] {
  const sorted = evidence.toSorted((a, b) => ORDER.indexOf(a.effect) - ORDER.indexOf(b.effect));
  const lines = sorted.slice(0, MAX_SHOWN).flatMap((one) => renderOne(one, look));
  const hidden = Math.max(0, sorted.length - MAX_SHOWN) + Object.values(more).reduce((sum, count) => sum + count, 0);
  return hidden > 0 ? [...lines, look.style.dim(`    … and ${hidden} more; --json lists them`)] : lines;
}

function renderOne(evidence: Evidence, { style, columns }: Look): readonly string[] {
  const { mark, paint } = lookOf(evidence.effect, style);
  const [first = '', ...rest] = wrap(evidence.message, columns - 4);
  const facts = [
    evidence.code,
    ...(evidence.offset === undefined
      ? []
      : [`at byte ${evidence.offset}${evidence.file === null ? '' : ` of ${printable(evidence.file)}`}`]),
    ...(evidence.expected === undefined ? [] : [`expected ${evidence.expected}`]),
    ...(evidence.found === undefined ? [] : [`found ${evidence.found}`]),
  ];
  return [
    `  ${paint(mark)} ${first}`,
    ...rest.map((line) => `    ${line}`),
    ...wrap(facts.join(' · '), columns - 4).map((line) => style.dim(`    ${line}`)),
  ];
}

function lookOf(effect: Effect, style: Style): { mark: string; paint: (text: string) => string } {
  switch (effect) {
    case 'corrupt':
    case 'zombie':
    case 'partial':
    case 'security':
      return { mark: '✗', paint: style.red };
    case 'in-progress':
    case 'unreadable':
      return { mark: '…', paint: style.yellow };
    case 'warning':
      return { mark: '!', paint: style.yellow };
    case 'note':
      return { mark: '·', paint: style.dim };
  }
}
