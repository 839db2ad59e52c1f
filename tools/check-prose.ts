import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { displayWidth } from '../src/cli/output/width.ts';

/** A fault for a reader, with its place. */
export interface ProseFault {
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

/** Markdown and comments wrap here; tables and code may be longer. */
const COLUMNS = 100;

const WRAPPED = '{*.md,*.ts,{bench,docs,examples,python,src,test,tools}/**/*.{md,ts,py,sh}}';
/** Files that are not written by hand, or damaged on purpose. */
const EXCLUDED = ['**/node_modules/**', 'test/fixtures/**', 'test/kubernetes/traces/recorded/**'];

const EXPORT = /^export (?:async )?(?:abstract )?(?:function\*?|const|class|interface|type) (\w+)/;
const COMMENT = { ts: /^\s*(?:\/\/|\/\*|\*)/, py: /^\s*#/, sh: /^\s*#/ };
/** A line to copy as a whole, or one that a tool reads. */
const AS_IT_IS = /^\s*(?:#!|\/\/ oxlint-|# expect: )/;

/**
 * Checks two rules of the house style. Every export of `src` has a comment that says what it means.
 * Markdown and comments wrap at 100 columns.
 */
export function checkProse(root: string): ProseFault[] {
  return globSync(WRAPPED, { cwd: root, exclude: EXCLUDED })
    .sort()
    .flatMap((file) => {
      const lines = readFileSync(join(root, file), 'utf8').split('\n');
      const isSource = file.startsWith('src/') && file.endsWith('.ts') && !file.endsWith('.test.ts');
      return [...tooLong(file, lines), ...(isSource ? meaningless(file, lines) : [])];
    });
}

function meaningless(file: string, lines: readonly string[]): ProseFault[] {
  return lines.flatMap((text, index) => {
    const name = EXPORT.exec(text)?.[1];
    const before = lines.slice(0, index).findLast((line) => !AS_IT_IS.test(line)) ?? '';
    if (name === undefined || before.trimEnd().endsWith('*/')) return [];
    return [{ file, line: index + 1, message: `${name} is exported and has no comment: say in one sentence what it means` }];
  });
}

function tooLong(file: string, lines: readonly string[]): ProseFault[] {
  const kind = file.split('.').at(-1) as 'md' | keyof typeof COMMENT;
  let isFenced = false;
  return lines.flatMap((text, index) => {
    if (kind === 'md' && text.trimStart().startsWith('```')) isFenced = !isFenced;
    const isProse = kind === 'md' ? !isFenced && !/^(?: {4}|\s*\|)/.test(text) : COMMENT[kind].test(text) && !AS_IT_IS.test(text);
    const columns = displayWidth(text);
    if (!isProse || columns <= COLUMNS || isOneWord(text)) return [];
    return [{ file, line: index + 1, message: `has ${columns} columns: wrap it at ${COLUMNS}` }];
  });
}

/** A single word, such as a link, which cannot be broken. */
function isOneWord(text: string): boolean {
  return !/\S\s+\S/.test(text.replace(/^\s*(?:[-*#]|\d+\.|\/\/)?\s*/, ''));
}

if (import.meta.main) {
  const found = checkProse(process.argv[2] ?? join(import.meta.dirname, '..'));
  for (const { file, line, message } of found) console.error(`${file}:${line}: ${message}`);
  if (found.length > 0) process.exitCode = 1;
}
