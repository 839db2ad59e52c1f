import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { ROOT } from '../../support/run-process.ts';

const FACILITY = join(ROOT, 'test/kubernetes');
const SHORT = 12;

/** What a recorded page is about: with another program, or with other cases or models, it would have to be recorded anew. */
export interface Provenance {
  readonly program: string;
  readonly models: string;
}

export function provenance(): Provenance {
  return { program: programHash(), models: modelsHash() };
}

/** The program that answers, as `setup.sh` names it. */
function programHash(): string {
  const own = readdirSync(join(FACILITY, 'go/oracle'))
    .filter((name) => /\.(go|s)$|^go\./.test(name))
    .map((name) => `go/oracle/${name}`);
  const lines = ['go/go.mod', 'go/go.sum', ...own].sort().map((path) => `${sha256(readFileSync(join(FACILITY, path)))}  ${path}\n`);
  return `oracle-${sha256(lines.join('')).slice(0, SHORT)}`;
}

/**
 * What makes and judges the cases: the checks and all that they import, so that none can be forgotten, and nothing of how they are run, asked and told. Lines that hold only a comment do not
 * count.
 */
function modelsHash(): string {
  const found = new Map<string, string>();
  const visit = (path: string): void => {
    if (found.has(path)) return;
    const text = readFileSync(path, 'utf8');
    found.set(path, text);
    for (const [, imported = ''] of text.matchAll(/ from '(\.[^']+)';/g)) visit(join(dirname(path), imported));
  };
  visit(join(FACILITY, 'oracle/checks.ts'));
  const counted = [...found].map(([path, text]) => [relative(ROOT, path), withoutComments(text)] as const);
  return `models-${sha256(JSON.stringify(counted.sort(([first], [second]) => (first < second ? -1 : 1)))).slice(0, SHORT)}`;
}

export function withoutComments(text: string): string {
  return text
    .split('\n')
    .filter((line) => !/^\s*(\/\/|\/\*\*|\* |\*\/|$)/.test(line))
    .join('\n');
}

function sha256(bytes: Buffer | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}
