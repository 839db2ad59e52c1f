import type { Edit } from '../source/finding.ts';
import type { MapNode, ScalarNode, YamlNode } from './yaml-node.ts';

/** Puts another value in the place of a scalar; a text that was quoted stays quoted. */
export function replaceScalar(node: YamlNode, text: string): Edit {
  const isQuoted = node.kind === 'scalar' && !node.isPlain && !/^\d+$/.test(text);
  return { from: node.from, to: node.to, text: isQuoted ? JSON.stringify(text) : text };
}

/** One line of a block that is inserted: how deep below the map, and its text. */
export type BlockLine = readonly [depth: number, text: string];

/**
 * Inserts an entry before another of the same map. Comments above that one stay with it only where
 * they stand behind the new entry, so the text goes right before the key. In a flow map the entry
 * is written on one line. No edit where the key does not begin its line: behind `?`, an anchor or a
 * tag an entry would become a part of something else.
 */
export function insertBefore(
  map: YamlNode,
  before: ScalarNode,
  entry: { readonly block: readonly BlockLine[]; readonly flow: string },
  source: string,
): readonly Edit[] {
  if ((map as MapNode).isFlow) return [{ from: before.from, to: before.from, text: `${entry.flow}, ` }];
  const lineStart = source.lastIndexOf('\n', before.from - 1) + 1;
  if (!/^ *(?:- *)*$/.test(source.slice(lineStart, before.from))) return [];
  const pad = ' '.repeat(before.from - lineStart);
  const lines = entry.block.map(([depth, text]) => `${'  '.repeat(depth)}${text}`);
  return [{ from: before.from, to: before.from, text: `${lines.join(`\n${pad}`)}\n${pad}` }];
}
