import { stringify } from 'yaml';
import type { NewObject } from '../../kube/api/api-object.ts';

/** Manifests for `kubectl apply -f -`. The same objects give the same text. */
export function manifestText(objects: readonly NewObject[]): string {
  return objects.map((object) => stringify(object, { lineWidth: 0, aliasDuplicateObjects: false })).join('---\n');
}
