import { type KubeObject, type Workload, workloadsOf } from '../manifest/workload.ts';
import type { Script } from '../script/script.ts';
import { isService } from '../manifest/workload-names.ts';
import type { World } from './rule.ts';

/** Brings objects and scripts together, and finds which workload runs which script. */
export function makeWorld(objects: readonly KubeObject[], scripts: readonly Script[], saveMs: number | null): World {
  const workloads = objects.flatMap(workloadsOf);
  const byName = new Map<string, Script[]>();
  for (const script of scripts) {
    const name = segments(script.file).at(-1) ?? '';
    byName.set(name, [...(byName.get(name) ?? []), script]);
  }
  const found = new Map(workloads.map((workload) => [workload, fitting(workload, byName)]));
  const scriptOf = (workload: Workload): Script | null => found.get(workload) ?? null;
  const runners = new Map<Script, Workload[]>();
  for (const workload of workloads) {
    const script = scriptOf(workload);
    if (script !== null) runners.set(script, [...(runners.get(script) ?? []), workload]);
  }
  const kinds = Map.groupBy(objects, ({ kind }) => kind);
  const names = Map.groupBy(objects, ({ kind, name }) => `${kind}/${name}`);
  return {
    objects,
    workloads,
    scripts,
    saveMs,
    services: workloads.filter(isService),
    ofKind: (kind) => kinds.get(kind) ?? [],
    named: (kind, name) => names.get(`${kind}/${name}`) ?? [],
    scriptOf,
    runnersOf: (script) => runners.get(script) ?? [],
  };
}

function segments(path: string): readonly string[] {
  return path.split('/').filter((part) => part !== '' && part !== '.');
}

/** The script whose path ends most like the one that is run; none where two fit as well. */
function fitting({ trainer }: Workload, byName: ReadonlyMap<string, readonly Script[]>): Script | null {
  const wanted = trainer?.command.script ?? null;
  if (wanted === null) return null;
  const parts = segments(wanted.endsWith('.py') ? wanted : `${wanted.replaceAll('.', '/')}.py`);
  const ranked = (byName.get(parts.at(-1) ?? '') ?? [])
    .map((script) => ({ script, common: commonEnd(parts, segments(script.file)) }))
    .toSorted((a, b) => b.common - a.common);
  const [first, second] = ranked;
  return first === undefined || first.common === second?.common ? null : first.script;
}

function commonEnd(a: readonly string[], b: readonly string[]): number {
  let count = 0;
  while (count < Math.min(a.length, b.length) && a.at(-1 - count) === b.at(-1 - count)) count++;
  return count;
}
