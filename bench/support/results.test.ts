import { expect, it } from 'vitest';
import { replaceSection } from './results.ts';

it('a section is replaced and its neighbours stay', () => {
  const document = '# Results\n\nintro\n\n## a\n\nold\n\n## b\n\nkept\n';
  expect(replaceSection(document, 'a', '## a\n\nnew\n')).toBe('# Results\n\nintro\n\n## a\n\nnew\n\n## b\n\nkept\n');
});

it('a new section goes to the end', () => {
  expect(replaceSection('# Results\n', 'a', '## a\n\nnew\n')).toBe('# Results\n\n## a\n\nnew\n');
});
