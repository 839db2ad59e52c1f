import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { join } from 'node:path';
import type { OracleCheck } from './check.ts';
import type { Cases } from './checks.ts';
import { MUTANTS, type Mutant } from './mutant-list.ts';
import { runCheck } from './run-checks.ts';

const HERE = fileURLToPath(new URL('.', import.meta.url));

export interface MutantRun {
  readonly mutant: Mutant;
  /** In how many of the cases it was found out. */
  readonly found: number;
}

/** Asks about cases with models that are wrong on purpose: a mistake that no case brings to light would not be found if it were ours. */
export async function runMutants(cases: Cases): Promise<readonly MutantRun[]> {
  const runs: MutantRun[] = [];
  for (const [index, mutant] of MUTANTS.entries()) {
    const { disagreements } = await runCheck(await mutatedCheck(mutant, index), cases);
    runs.push({ mutant, found: new Set(disagreements.map((each) => each.split(':')[0])).size });
  }
  return runs;
}

/** The check with everything of it loaded once more, from the same files but for the changed text. */
async function mutatedCheck(mutant: Mutant, index: number): Promise<OracleCheck> {
  const mark = `?mutant=${index}`;
  const changed = pathToFileURL(join(HERE, mutant.file)).href + mark;
  const hooks = registerHooks({
    resolve: (specifier, context, next) => {
      const resolved = next(specifier, context);
      const isOurs = resolved.url.startsWith(pathToFileURL(HERE).href) && context.parentURL?.endsWith(mark) === true;
      return isOurs ? { ...resolved, url: resolved.url + mark } : resolved;
    },
    load: (url, context, next) => {
      const loaded = next(url, context);
      return url === changed ? { ...loaded, source: mutated(readFileSync(new URL(url), 'utf8'), mutant) } : loaded;
    },
  });
  try {
    const { CHECKS: checks } = (await import(`./checks.ts${mark}`)) as { readonly CHECKS: readonly OracleCheck[] };
    const check = checks.find(({ name }) => name === mutant.check);
    if (check === undefined) throw new Error(`there is no check of the name ${mutant.check}`);
    return check;
  } finally {
    hooks.deregister();
  }
}

/** The text with the mistake in it. */
function mutated(text: string, { file, was, is }: Mutant): string {
  const parts = text.split(was);
  if (parts.length !== 2) throw new Error(`${file} has ${parts.length - 1} times what is to be changed: ${was}`);
  return parts.join(is);
}
