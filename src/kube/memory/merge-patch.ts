import { isFields } from '../objects/fields.ts';

/** The value after a JSON Merge Patch (RFC 7386): null deletes a field, a list is replaced. */
export function mergePatch(value: unknown, patch: unknown): unknown {
  if (!isFields(patch)) return patch;
  const merged = new Map(Object.entries(isFields(value) ? value : {}));
  for (const [name, change] of Object.entries(patch)) {
    if (change === null) merged.delete(name);
    else merged.set(name, mergePatch(merged.get(name), change));
  }
  return Object.fromEntries(merged);
}
