import type { Span } from '../source/source.ts';

/** A value of a YAML document with its place in the file. Aliases share the node that they name. */
export type YamlNode = ScalarNode | MapNode | SequenceNode;

/** A scalar with its place in the text. */
export interface ScalarNode extends Span {
  readonly kind: 'scalar';
  readonly text: string;
  /** Unquoted: such a text may be a number, a boolean or null. */
  readonly isPlain: boolean;
}

/** One key of a map with its value. */
export interface MapEntry {
  readonly key: ScalarNode;
  readonly value: YamlNode | null;
}

/** A map with its place in the text. */
export interface MapNode extends Span {
  readonly kind: 'map';
  readonly isFlow: boolean;
  readonly entries: ReadonlyMap<string, MapEntry>;
}

/** A list with its place in the text. */
export interface SequenceNode extends Span {
  readonly kind: 'sequence';
  readonly isFlow: boolean;
  readonly items: readonly (YamlNode | null)[];
}

/** The value at a path of keys, or null where one is missing. */
export function get(node: YamlNode | null | undefined, ...path: readonly string[]): YamlNode | null {
  let at: YamlNode | null | undefined = node;
  for (const key of path) at = at?.kind === 'map' ? at.entries.get(key)?.value : null;
  return at ?? null;
}

/** The entry of a map: key and value, for findings that point at the key. */
export function entryOf(node: YamlNode | null, key: string): MapEntry | null {
  return node?.kind === 'map' ? (node.entries.get(key) ?? null) : null;
}

/** The items of a sequence that are there; none for anything else. */
export function items(node: YamlNode | null): readonly YamlNode[] {
  return node?.kind === 'sequence' ? node.items.filter((item) => item !== null) : [];
}

/** The keys and values of a map; none for anything else. */
export function entries(node: YamlNode | null): readonly MapEntry[] {
  return node?.kind === 'map' ? [...node.entries.values()] : [];
}

/** The text of a scalar as it would reach a program: also of numbers and booleans. */
export function text(node: YamlNode | null): string | null {
  return node?.kind === 'scalar' && !(node.isPlain && /^(?:|~|null|Null|NULL)$/.test(node.text)) ? node.text : null;
}

/**
 * A whole or decimal number, also in quotes where Kubernetes takes a quantity; null for anything
 * else.
 */
export function number(node: YamlNode | null): number | null {
  const value = text(node);
  return value !== null && /^[-+]?\d+(?:\.\d+)?$/.test(value) ? Number(value) : null;
}

/** A boolean as Kubernetes reads YAML: version 1.1, with yes, no, on and off. */
export function boolean(node: YamlNode | null): boolean | null {
  if (node?.kind !== 'scalar' || !node.isPlain) return null;
  if (/^(?:y|yes|true|on)$/i.test(node.text)) return true;
  return /^(?:n|no|false|off)$/i.test(node.text) ? false : null;
}

/** The text of a scalar at a path. */
export function textAt(node: YamlNode | null, ...path: readonly string[]): string | null {
  return text(get(node, ...path));
}

/** The number at a path. */
export function numberAt(node: YamlNode | null, ...path: readonly string[]): number | null {
  return number(get(node, ...path));
}

/** Where to point at: the key at the end of the path, or the nearest one above that is there. */
export function spanAt(node: YamlNode, ...path: readonly string[]): Span {
  let at: YamlNode | null = node;
  let span: Span = headOf(node);
  for (const key of path) {
    const entry: MapEntry | null = entryOf(at, key);
    if (entry === null) break;
    span = entry.value?.kind === 'scalar' ? { from: entry.key.from, to: entry.value.to } : entry.key;
    at = entry.value;
  }
  return span;
}

/** The first line of a node: a finding about a whole object points at its first key. */
export function headOf(node: YamlNode): Span {
  if (node.kind === 'map') return [...node.entries.values()][0]?.key ?? node;
  if (node.kind === 'sequence') return node.items[0] ?? node;
  return node;
}
