import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from './support/run-process.ts';

const NOT_OURS = new Set(['node_modules', 'dist', 'runs', 'coverage', '.cache']);
const PAGES = globSync('**/*.md', { cwd: ROOT, exclude: (name) => NOT_OURS.has(name) }).sort();

interface Link {
  readonly page: string;
  readonly to: string;
}

/** The links of a page into this repository, without code that only looks like a link. */
function linksIn(page: string): readonly Link[] {
  const prose = readFileSync(join(ROOT, page), 'utf8')
    .replaceAll(/^( {4}|```)[^\n]*$/gm, '')
    .replaceAll(/`[^`\n]*`/g, '');
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, to = '']) => ({ page, to })).filter(({ to }) => !/^[a-z]+:/.test(to));
}

/** The anchors of a page: every heading has one made from its words. */
function anchorsOf(path: string): readonly string[] {
  const headings = [...readFileSync(path, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, text = '']) => text);
  return headings.map((text) =>
    text
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function isThere({ page, to }: Link): boolean {
  const [file = '', anchor] = to.split('#');
  const path = file === '' ? join(ROOT, page) : join(ROOT, dirname(page), decodeURI(file));
  if (!existsSync(path) || relative(ROOT, path).startsWith('..')) return false;
  return anchor === undefined || (statSync(path).isFile() && anchorsOf(path).includes(anchor));
}

it('every link in the documentation has a target', () => {
  const links = PAGES.flatMap(linksIn);
  expect(links.length).toBeGreaterThan(300);
  expect(links.filter((link) => !isThere(link)).map(({ page, to }) => `${page}: ${to}`)).toEqual([]);
});
