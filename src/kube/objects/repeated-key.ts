import { type Document, isScalar, visit } from 'yaml';

/**
 * Where a map gives a key twice, or null. The parser’s own check compares each key with all others
 * of its map, which takes minutes for a map of a few megabytes.
 */
export function repeatedKey(document: Document): number | null {
  let found: number | null = null;
  visit(document, {
    Map(_, { items }) {
      const keys = new Set<unknown>();
      for (const { key } of items) {
        // Several merges into one map are allowed.
        if (!isScalar(key) || key.value === '<<') continue;
        if (keys.has(key.value)) {
          found = key.range?.[0] ?? 0;
          return visit.BREAK;
        }
        keys.add(key.value);
      }
      return undefined;
    },
  });
  return found;
}
