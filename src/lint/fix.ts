import type { Edit, Finding } from './source/finding.ts';
import { lint, type LintOptions } from './lint.ts';
import type { Source } from './source/source.ts';

/** How often what was fixed is linted again: a fix may make room for the next. */
const ROUNDS = 10;

/** A source that fixes have changed. */
export interface Fixed extends Source {
  readonly before: string;
  readonly codes: readonly string[];
}

/**
 * Applies all fixes until there are none left, to all sources together. Only what `wanted` says is
 * fixed.
 */
export function fixAll(sources: readonly Source[], options: LintOptions, wanted: (finding: Finding) => boolean): readonly Fixed[] {
  const texts = new Map(sources.map(({ path, text }) => [path, text]));
  const codes = new Map<string, Set<string>>();
  for (let round = 0; round < ROUNDS; round++) {
    const { findings } = lint(
      [...texts].map(([path, text]) => ({ path, text })),
      options,
    );
    const fixable = findings.filter((finding) => finding.edits.length > 0 && wanted(finding));
    if (fixable.length === 0) break;
    for (const path of new Set(fixable.map((finding) => finding.path))) {
      const own = fixable.filter((finding) => finding.path === path);
      texts.set(path, applyFindings(texts.get(path) ?? '', own));
      codes.set(path, new Set([...(codes.get(path) ?? []), ...own.map(({ code }) => code)]));
    }
  }
  return sources.flatMap(({ path, text: before }) => {
    const text = texts.get(path) ?? before;
    return text === before ? [] : [{ path, text, before, codes: [...(codes.get(path) ?? [])] }];
  });
}

/**
 * Applies the edits of findings whose places do not overlap; the others wait for the next round.
 */
function applyFindings(text: string, findings: readonly Finding[]): string {
  const chosen: Edit[] = [];
  for (const { edits } of findings) {
    const clashes = edits.some((edit) => chosen.some((one) => overlaps(edit, one)));
    if (!clashes) chosen.push(...edits);
  }
  // What is added ends its lines as the file does.
  const end = /\r?\n/.exec(text)?.[0] ?? '\n';
  return chosen
    .toSorted((a, b) => b.from - a.from)
    .reduce((made, { from, to, text: put }) => made.slice(0, from) + put.replaceAll(/\r?\n/g, end) + made.slice(to), text);
}

function overlaps(a: Edit, b: Edit): boolean {
  return (a.from < b.to && b.from < a.to) || a.from === b.from;
}
