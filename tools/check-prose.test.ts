import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { tempFolder } from '../test/support/temp-folder.ts';
import { checkProse } from './check-prose.ts';

const LONG = 'word '.repeat(25);

const check = (files: Readonly<Record<string, string>>): string[] => {
  using root = tempFolder();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root.path, name)), { recursive: true });
    writeFileSync(join(root.path, name), text);
  }
  return checkProse(root.path).map(({ file, line, message }) => `${file}:${line}: ${message}`);
};

it.each([
  ['a paragraph of a page', 'docs/a.md', `# A\n\n${LONG}\n`, 3],
  ['a comment of TypeScript', 'src/a.ts', `\n  // ${LONG}\n`, 2],
  ['a line of a comment block', 'test/a.test.ts', `/**\n * ${LONG}\n */\n`, 2],
  ['a comment of Python', 'python/a.py', `x = 1\n# ${LONG}\n`, 2],
  ['a comment of a shell script', 'test/a.sh', `# ${LONG}\n`, 1],
])('%s that is longer than 100 columns is found', (_, file, text, line) => {
  expect(check({ [file]: text })).toEqual([expect.stringMatching(`^${file}:${line}: has 1\\d\\d columns: wrap it at 100$`)]);
});

it('tables, code, links and code of pages may be longer', () => {
  const table = `| ${LONG} |\n`;
  const files = {
    'docs/a.md': `${table}\n    ${LONG}\n\n\`\`\`\n${LONG}\n\`\`\`\n\n- [a](${'x'.repeat(120)})\n`,
    'src/a.ts': `const a = '${LONG}';\n`,
    'test/fixtures/a.md': LONG,
  };
  expect(check(files)).toEqual([]);
});

it('an export of the sources without a comment is found by its name', () => {
  const files = {
    'src/a.ts': '/** Says something. */\nexport const a = 1;\n\nexport async function b(): Promise<void> {}\n\nexport type C = string;\n',
    'src/a.test.ts': 'export const a = 1;\n',
    'tools/a.ts': 'export const a = 1;\n',
  };
  expect(check(files)).toEqual([
    'src/a.ts:4: b is exported and has no comment: say in one sentence what it means',
    'src/a.ts:6: C is exported and has no comment: say in one sentence what it means',
  ]);
});
