import type { Source } from './source.ts';

/** What a block of code in Markdown is taken for, by the word behind its fence. */
export type BlockLanguage = 'yaml' | 'python' | 'shell' | 'unknown';

/** A block of code: a source whose offsets are those of the whole text. */
export interface Block extends Source {
  readonly language: BlockLanguage;
}

const LANGUAGES: Readonly<Record<string, BlockLanguage>> = {
  yaml: 'yaml',
  yml: 'yaml',
  json: 'yaml',
  k8s: 'yaml',
  kubernetes: 'yaml',
  python: 'python',
  python3: 'python',
  py: 'python',
  sh: 'shell',
  bash: 'shell',
  shell: 'shell',
  console: 'shell',
  zsh: 'shell',
  '': 'unknown',
};

/**
 * Whether a text is Markdown: by its name, or on standard input because a fence stands in it and no
 * object begins outside of the fences.
 */
export function isMarkdown({ path, text }: Source): boolean {
  if (/\.(?:md|mdx|markdown)$/i.test(path)) return true;
  return path === '-' && /^[ \t]*(?:```|~~~)/m.test(text) && !/^(?:apiVersion|kind|import|from)\b/m.test(outside(text));
}

function outside(text: string): string {
  return text.replaceAll(FENCED, '');
}

const FENCED =
  /^(?<indent>[ \t]*)(?<fence>`{3,}|~{3,})[ \t]*\{?\.?(?<word>[\w+-]*)[^\n]*\n(?<code>[\s\S]*?)(?:^[ \t]*\k<fence>[`~]*[ \t]*$|(?![\s\S]))/gm;

/**
 * The blocks of code of a Markdown text. What stands before a block is blank, so that a place in it
 * is the same place in the text. Blocks in other languages are left out.
 */
export function blocksOf({ path, text }: Source): readonly Block[] {
  return [...text.matchAll(FENCED)].flatMap((match): Block[] => {
    const { word = '', code = '' } = match.groups ?? {};
    const language = LANGUAGES[word.toLowerCase()];
    if (language === undefined || code.trim() === '') return [];
    const from = match.index + match[0].indexOf('\n') + 1;
    const before = text.slice(0, from).replaceAll(/[^\n]/g, ' ');
    return [{ path, language, text: before + code }];
  });
}

/**
 * The same lines without the indentation that all of them have, each character at its old offset:
 * the spaces go to the end of the line before.
 */
export function withoutMargin(text: string): string {
  const lines = text.split('\n');
  const widths = lines.slice(1).flatMap((line) => (line.trim() === '' ? [] : [/^ */.exec(line)?.[0].length ?? 0]));
  const margin = widths.length === 0 || (lines[0] ?? '').trim() !== '' ? 0 : Math.min(...widths);
  if (margin === 0) return text;
  const pad = ' '.repeat(margin);
  return text.replaceAll(new RegExp(`\\n {${margin}}(?=[^\\n]*\\S)`, 'g'), `${pad}\n`);
}
