import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { EVIDENCE_CODES } from '../src/checkpoint/evidence/catalogue.ts';
import { ERROR_CODES } from '../src/core/error-codes.ts';
import { COMMANDS } from '../src/cli/commands/index.ts';
import { exitCodeTable } from '../src/cli/help.ts';
import { POD_FAILURE_POLICY, RUN_ENDS } from '../src/domain/exit-contract.ts';
import { commandPage } from './reference/command-page.ts';
import { errorPage, evidencePage, exitCodePage } from './reference/code-pages.ts';
import { ledgerPage } from './reference/ledger-page.ts';

/** The pages of docs/reference that are made from the tables in the source, by path. */
export async function generatedDocs(): Promise<ReadonlyMap<string, string>> {
  const commands = await Promise.all(COMMANDS.map(async (entry) => ({ entry, command: await entry.load() })));
  return new Map([
    ['docs/reference/commands.md', commandPage(commands)],
    ['docs/reference/errors.md', errorPage(ERROR_CODES)],
    ['docs/reference/evidence.md', evidencePage(EVIDENCE_CODES)],
    ['docs/reference/ledger.md', ledgerPage()],
    [
      'docs/reference/exit-codes.md',
      exitCodePage(exitCodeTable(), { ends: Object.values(RUN_ENDS), podFailurePolicy: POD_FAILURE_POLICY }),
    ],
  ]);
}

/** The pages that differ from what lies on disk. */
export function stalePages(pages: ReadonlyMap<string, string>, root: string): string[] {
  return [...pages].filter(([path, text]) => readIfThere(join(root, path)) !== text).map(([path]) => path);
}

function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

if (import.meta.main) {
  const root = join(import.meta.dirname, '..');
  const pages = await generatedDocs();
  const stale = stalePages(pages, root);
  if (process.argv.includes('--check')) {
    for (const path of stale) console.error(`${path} is not what the source says: run \`npm run docs\` and commit it`);
    if (stale.length > 0) process.exitCode = 1;
  } else {
    for (const path of stale) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), pages.get(path) ?? '');
      console.log(`wrote ${path}`);
    }
  }
}
