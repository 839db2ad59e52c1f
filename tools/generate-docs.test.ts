import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EVIDENCE_CODES } from '../src/evidence/catalogue.ts';
import { tempFolder } from '../test/support/temp-folder.ts';
import { generatedDocs, stalePages } from './generate-docs.ts';

describe('the generated reference', () => {
  it('has a heading for every code of evidence', async () => {
    const page = (await generatedDocs()).get('docs/reference/evidence.md') ?? '';
    for (const code of Object.keys(EVIDENCE_CODES)) expect(page).toContain(`\n### ${code}\n`);
  });

  it('is stale when a page is missing or differs, and fresh when none does', async () => {
    using root = tempFolder();
    const pages = await generatedDocs();
    expect(stalePages(pages, root.path)).toEqual([...pages.keys()]);
    for (const [path, text] of pages) {
      mkdirSync(dirname(join(root.path, path)), { recursive: true });
      writeFileSync(join(root.path, path), text);
    }
    expect(stalePages(pages, root.path)).toEqual([]);
    writeFileSync(join(root.path, 'docs/reference/errors.md'), 'old');
    expect(stalePages(pages, root.path)).toEqual(['docs/reference/errors.md']);
  });
});
