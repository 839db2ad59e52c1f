import { type Document, isSeq } from 'yaml';
import { get, items, textAt } from '../manifest/yaml-node.ts';
import type { Workload } from '../manifest/workload.ts';

/** A way through a document. */
export type Path = readonly (string | number)[];

/**
 * Adds an entry to a list, which is made where it is missing; one of the same name is left alone.
 */
export function append(document: Document, path: Path, entry: Readonly<Record<string, unknown>> & { readonly name: string }): void {
  const list = document.getIn(path, true);
  if (!isSeq(list)) {
    document.setIn(path, document.createNode([entry]));
    return;
  }
  const isThere = list.items.some((item) => (item as { get?: (key: string) => unknown }).get?.('name') === entry.name);
  if (!isThere) list.add(document.createNode(entry));
}

/** A name that no volume of the pod has: `runs`, else `runs-2` and so on. */
export function freeVolumeName({ pod }: Workload, wanted: string): string {
  const taken = new Set(items(get(pod, 'volumes')).map((volume) => textAt(volume, 'name')));
  let name = wanted;
  for (let count = 2; taken.has(name); count++) name = `${wanted}-${count}`;
  return name;
}
