import { join } from 'node:path';
import { inParallel } from './in-parallel.ts';
import { compiledIn, FRAMEWORKS, familyOf, output } from './python.ts';

/**
 * The result of the framework's own loader; `silent`: it loaded other values without any message.
 */
export type Outcome = 'ok' | 'silent' | 'error' | 'crash' | 'hang';

export interface Load {
  readonly maker: string;
  readonly path: string;
  /** The values of a whole checkpoint. */
  readonly digest: string;
}

interface Printed {
  readonly outcome: 'loaded' | 'error' | 'crash' | 'hang';
  readonly digest?: string;
}

interface Means {
  readonly pythons: ReadonlyMap<string, string>;
  /** A cache folder for code that the frameworks compile. */
  readonly compiled: string;
}

/** Loads every path with the loader of its maker. The import of each framework is paid once. */
export async function loadAll(loads: readonly Load[], { pythons, compiled }: Means): Promise<ReadonlyMap<string, Outcome>> {
  // Starts the longest first, so that it does not run alone at the end.
  const byMaker = [...Map.groupBy(loads, ({ maker }) => maker)].sort(([, a], [, b]) => b.length - a.length);
  const outcomes = new Map<string, Outcome>();
  await inParallel(byMaker, 2, async ([maker, group]) => {
    const script = `loaders/${maker}.py`;
    const python = pythons.get(familyOf(script)) ?? 'python3';
    const input = group.map(({ path }) => `${path}\n`).join('');
    const printed = await output(python, [join(FRAMEWORKS, script), '--batch'], { input, env: compiledIn(compiled) });
    const lines = printed.split('\n').filter((line) => line.startsWith('{"outcome"'));
    if (lines.length !== group.length) throw new Error(`${script} answered ${lines.length} of ${group.length} paths`);
    for (const [index, { path, digest }] of group.entries()) {
      const answer = JSON.parse(lines[index] ?? '') as Printed;
      const loaded = answer.digest === digest ? 'ok' : 'silent';
      outcomes.set(path, answer.outcome === 'loaded' ? loaded : answer.outcome);
    }
  });
  return outcomes;
}
