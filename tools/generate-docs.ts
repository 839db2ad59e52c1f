import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { EVIDENCE_CODES } from '../src/evidence/catalogue.ts';
import { ERROR_CODES } from '../src/core/error-codes.ts';
import { EXIT_ADVICE } from '../src/core/exit-advice.ts';
import { EXIT } from '../src/core/exit-codes.ts';
import { COMMANDS } from '../src/cli/commands/index.ts';
import { withVerbs } from '../src/cli/frame/command.ts';
import { version } from '../src/cli/frame/version.ts';
import { exitCodeTable } from '../src/cli/frame/help.ts';
import { POD_FAILURE_POLICY, RUN_ENDS } from '../src/domain/exit/exit-contract.ts';
import { chartFiles } from './chart/helm-chart.ts';
import { commandPage } from './reference/command-page.ts';
import { errorPage, evidencePage, exitCodePage } from './reference/code-pages.ts';
import { RULES } from '../src/lint/catalogue.ts';
import { lintPage } from './reference/lint-page.ts';
import { ledgerPage } from './reference/ledger-page.ts';
import { causePage, endPage, verdictPage } from './reference/word-pages.ts';

/** The pages and the files of the Helm chart that are made from the source, by path. */
export async function generatedDocs(): Promise<ReadonlyMap<string, string>> {
  const commands = await Promise.all((await withVerbs(COMMANDS)).map(async (entry) => ({ entry, command: await entry.load() })));
  return new Map([
    ...chartFiles(version()),
    ['docs/reference/commands.md', commandPage(commands)],
    ['docs/reference/errors.md', errorPage(ERROR_CODES)],
    ['docs/reference/evidence.md', evidencePage(EVIDENCE_CODES)],
    ['docs/reference/ledger.md', ledgerPage()],
    ['docs/reference/verdicts.md', verdictPage()],
    ['docs/reference/causes.md', causePage()],
    ['docs/reference/ends.md', endPage()],
    ['docs/reference/lint.md', lintPage(RULES)],
    [
      'docs/reference/exit-codes.md',
      exitCodePage(exitCodeTable(), exitAdvice(), { ends: Object.values(RUN_ENDS), podFailurePolicy: POD_FAILURE_POLICY }),
    ],
  ]);
}

function exitAdvice(): { readonly code: number; readonly script: string; readonly job: string | null }[] {
  const rows = (Object.keys(EXIT) as (keyof typeof EXIT)[]).map((name) => ({ code: EXIT[name], ...EXIT_ADVICE[name] }));
  return rows.sort((a, b) => a.code - b.code);
}

/** The pages that differ from the files on disk. */
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
