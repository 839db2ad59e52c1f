import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from '../../support/run-process.ts';
import { type Minor, type OracleCheck, RELEASES } from './check.ts';
import { CHECKS, type Cases } from './checks.ts';
import { MUTANTS, type Mutant } from './mutant-list.ts';
import { type Answers, askAll, judge } from './run-checks.ts';

/** The folders whose code can be wrong, or imports what is. */
const OURS = ['src/', 'test/kubernetes/oracle/'].map((folder) => pathToFileURL(join(ROOT, folder)).href);

export interface MutantRun {
  readonly mutant: Mutant;
  /** In how many cases the run found the mistake. */
  readonly found: number;
}

/**
 * Compares the answers with our code when it is wrong on purpose. If no case finds such a mistake,
 * no case would find the same mistake in our real code. The answers are asked for once.
 */
export async function runMutants(cases: Cases, releases: readonly Minor[] = RELEASES): Promise<readonly MutantRun[]> {
  const answers = new Map<string, Answers>();
  for (const check of CHECKS) {
    for (const minor of releases.filter((each) => check.releases.includes(each))) {
      answers.set(`${check.name} ${minor}`, await askAll(check, cases, minor));
    }
  }
  const runs: MutantRun[] = [];
  for (const [index, mutant] of MUTANTS.entries()) {
    const minor = mutant.minor;
    if (!releases.includes(minor)) continue;
    const check = await mutatedCheck(mutant, index);
    const { disagreements } = judge(check, cases, minor, answers.get(`${check.name} ${minor}`) ?? []);
    runs.push({ mutant, found: new Set(disagreements.map((each) => each.split(':')[0])).size });
  }
  return runs;
}

/** Loads the check again from the same files, with only the text of the mutant changed. */
async function mutatedCheck(mutant: Mutant, index: number): Promise<OracleCheck> {
  const mark = `?mutant=${index}`;
  const changed = pathToFileURL(join(ROOT, mutant.file)).href + mark;
  const hooks = registerHooks({
    resolve: (specifier, context, next) => {
      const resolved = next(specifier, context);
      const isOurs = OURS.some((folder) => resolved.url.startsWith(folder)) && context.parentURL?.endsWith(mark) === true;
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

/** The text with the mutant's mistake in it. */
function mutated(text: string, { file, was, is }: Mutant): string {
  const parts = text.split(was);
  if (parts.length !== 2) throw new Error(`${file} has ${parts.length - 1} times what is to be changed: ${was}`);
  return parts.join(is);
}
