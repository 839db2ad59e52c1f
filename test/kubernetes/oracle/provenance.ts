import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { ROOT } from '../../support/run-process.ts';

const FACILITY = join(ROOT, 'test/kubernetes');
const CASES = join(FACILITY, 'oracle');
const SHORT = 12;

/**
 * What a recorded page depends on. If the program or the cases change, the page must be recorded
 * again. What `src` holds changes more often: the suite asks about it for every commit.
 */
export interface Provenance {
  readonly program: string;
  readonly cases: string;
}

export function provenance(): Provenance {
  return { program: programHash(), cases: casesHash() };
}

/** The versions of Kubernetes that are asked, the oldest first. */
export function kubernetesVersions(): readonly string[] {
  return ['go/go.mod', 'go/oracle/go.1.37.mod'].map((path) => {
    const version = readFileSync(join(FACILITY, path), 'utf8').match(/k8s\.io\/kubernetes (\S+)/)?.[1];
    if (version === undefined) throw new Error(`${path} names no version of Kubernetes`);
    return version;
  });
}

/** The hash of the program, as `setup.sh` names it. */
function programHash(): string {
  const own = readdirSync(join(FACILITY, 'go/oracle'))
    .filter((name) => /\.(go|s)$|^go\./.test(name))
    .map((name) => `go/oracle/${name}`);
  const lines = ['go/go.mod', 'go/go.sum', ...own].sort().map((path) => `${sha256(readFileSync(join(FACILITY, path)))}  ${path}\n`);
  return `oracle-${sha256(lines.join('')).slice(0, SHORT)}`;
}

/**
 * A hash of everything that makes and judges the cases: the checks and what they import, without
 * `src`. The code that runs the checks, asks and reports does not count, nor do lines that hold
 * only a comment.
 */
function casesHash(): string {
  const found = new Map<string, string>();
  const visit = (path: string): void => {
    if (found.has(path) || !path.startsWith(CASES)) return;
    const text = readFileSync(path, 'utf8');
    found.set(path, text);
    for (const [, imported = ''] of text.matchAll(/ from '(\.[^']+)';/g)) visit(join(dirname(path), imported));
  };
  visit(join(FACILITY, 'oracle/checks.ts'));
  const counted = [...found].map(([path, text]) => [relative(ROOT, path), withoutComments(text)] as const);
  return `cases-${sha256(JSON.stringify(counted.sort(([first], [second]) => (first < second ? -1 : 1)))).slice(0, SHORT)}`;
}

function withoutComments(text: string): string {
  return text
    .split('\n')
    .filter((line) => !/^\s*(\/\/|\/\*\*|\* |\*\/|$)/.test(line))
    .join('\n');
}

function sha256(bytes: Buffer | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}
