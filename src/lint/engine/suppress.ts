import type { Span } from '../source/source.ts';

/** A comment that switches rules off: `# holdfast-lint: off CODE reason`. */
export interface Suppression extends Span {
  readonly codes: readonly string[];
  readonly reason: string;
  /** The lines it is about, from 1; null for all of its document. */
  readonly lines: { readonly first: number; readonly last: number } | null;
  /** The stretch of the source that it is about, where it is a whole document. */
  readonly scope: Span;
}

const COMMENT = /#[ \t]*holdfast-lint:[ \t]*off\b[ \t]*([A-Z][A-Z0-9_]*(?:[ \t]*,[ \t]*[A-Z][A-Z0-9_]*)*)?[ \t]*([^\n\r]*)/g;

/**
 * The suppressions of a text. Behind something on its line, a comment is about that line; alone on
 * a line, about the next line that is no comment; above the first line of a document or a file,
 * about all of it.
 */
export function suppressionsOf(text: string): readonly Suppression[] {
  if (!text.includes('holdfast-lint:')) return [];
  return [...text.matchAll(COMMENT)].map((match): Suppression => {
    const [whole, codes = '', reason = ''] = match;
    const from = match.index;
    const document = documentAround(text, from);
    const isHead = /^(?:---.*)?\s*$/.test(withoutComments(text.slice(document.from, from)));
    const lines = isHead ? null : linesOf(text, from);
    return {
      from,
      to: from + whole.trimEnd().length,
      codes: codes
        .split(',')
        .map((code) => code.trim())
        .filter((code) => code !== ''),
      reason: reason.trim(),
      lines,
      scope: document,
    };
  });
}

function documentAround(text: string, at: number): Span {
  const from = text.slice(0, at).search(/^---[^\n]*$(?![\s\S]*^---)/m);
  const next = text.slice(at).search(/^---/m);
  return { from: Math.max(0, from), to: next < 0 ? text.length : at + next };
}

function withoutComments(text: string): string {
  return text.replaceAll(/^[ \t]*#[^\n]*$/gm, '').replace(/#?[ \t]*$/, '');
}

function linesOf(text: string, at: number): { first: number; last: number } {
  const line = text.slice(0, at).split('\n').length;
  const start = text.lastIndexOf('\n', at - 1) + 1;
  if (text.slice(start, at).trim() !== '') return { first: line, last: line };
  const rest = text.slice(at).split('\n').slice(1);
  const next = rest.findIndex((one) => one.trim() !== '' && !one.trim().startsWith('#'));
  return next < 0 ? { first: line, last: line } : { first: line, last: line + 1 + next };
}
