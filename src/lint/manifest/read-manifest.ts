import { isAlias, isMap, isPair, isScalar, isSeq, parseDocument, type Document, type Node, type YAMLMap, type YAMLSeq } from 'yaml';
import { excerpt } from '../../core/printable.ts';
import { MAX_DEPTH, MAX_NODES } from './size-limits.ts';
import type { MapEntry, MapNode, ScalarNode, SequenceNode, YamlNode } from './yaml-node.ts';
import type { Piece } from './split.ts';
import type { Span } from '../source/source.ts';

/** What became of a document: its tree, or why there is none. */
export type ReadDocument =
  | {
      readonly root: YamlNode;
      /** What aliases and merges repeat elsewhere: an edit there changes several places at once. */
      readonly shared: readonly Span[];
    }
  | { readonly kind: 'broken-yaml' | 'too-deep'; readonly at: number; readonly message: string };

/**
 * Reads one document. Never throws, follows no alias twice, and gives up on trees that no manifest
 * has.
 */
export function readDocument({ from, text }: Piece): ReadDocument {
  const depth = deepestIndent(text);
  if (depth !== null) return { kind: 'too-deep', at: from + depth, message: `more than ${MAX_DEPTH} levels deep` };
  try {
    const document = parseDocument(text, {
      schema: 'failsafe',
      merge: true,
      // The parser compares each key with all others of its map.
      uniqueKeys: false,
      prettyErrors: false,
    });
    const [error] = document.errors;
    if (error !== undefined) return { kind: 'broken-yaml', at: from + error.pos[0], message: sentence(error.message) };
    if (document.contents === null) return { kind: 'broken-yaml', at: from, message: 'the document is empty' };
    const converter = new Converter(document, from);
    return { root: converter.convert(document.contents, 0), shared: converter.shared };
  } catch (thrown) {
    if (thrown instanceof TwiceGiven) return { kind: 'broken-yaml', at: thrown.at, message: 'Map keys must be unique' };
    if (thrown instanceof TooMuch) return { kind: 'too-deep', at: from, message: thrown.message };
    return { kind: 'broken-yaml', at: from, message: sentence(thrown instanceof Error ? thrown.message : 'it cannot be parsed') };
  }
}

class TooMuch extends Error {}

/** A key that its map has already, by its offset. */
class TwiceGiven extends Error {
  readonly at: number;

  constructor(at: number) {
    super();
    this.at = at;
  }
}

class Converter {
  readonly #shared = new Map<Node, Span>();
  readonly #document: Document;
  readonly #from: number;
  readonly #done = new Map<unknown, YamlNode>();
  #count = 0;

  constructor(document: Document, from: number) {
    this.#document = document;
    this.#from = from;
  }

  get shared(): readonly Span[] {
    return [...this.#shared.values()];
  }

  convert(node: Node, depth: number): YamlNode {
    if (depth > MAX_DEPTH) throw new TooMuch(`more than ${MAX_DEPTH} levels deep`);
    if (++this.#count > MAX_NODES) throw new TooMuch(`more than ${MAX_NODES} nodes`);
    if (isAlias(node)) return this.#alias(node.source, depth);
    const known = this.#done.get(node);
    if (known !== undefined) return known;
    const made = isMap(node) ? this.#map(node, depth) : isSeq(node) ? this.#sequence(node, depth) : this.#scalar(node);
    this.#done.set(node, made);
    return made;
  }

  #alias(name: string, depth: number): YamlNode {
    const target = this.#anchors().get(name);
    if (target === undefined) throw new Error(`there is no anchor &${excerpt(name, 40)}`);
    this.#shared.set(target, this.#span(target));
    return this.convert(target, depth + 1);
  }

  #names: Map<string, Node> | null = null;
  /** Where a name is given twice the first counts, which no manifest does. */
  #anchors(): ReadonlyMap<string, Node> {
    if (this.#names !== null) return this.#names;
    const names = new Map<string, Node>();
    const open: unknown[] = [this.#document.contents];
    for (let node = open.pop(); node !== undefined || open.length > 0; node = open.pop()) {
      if (isPair(node)) open.push(node.value, node.key);
      else if (isMap(node) || isSeq(node)) open.push(...(node.items as unknown[]).toReversed());
      const anchor = (node as { anchor?: string } | null | undefined)?.anchor;
      if (anchor !== undefined && !names.has(anchor)) names.set(anchor, node as Node);
    }
    this.#names = names;
    return names;
  }

  #span(node: Node): Span {
    const [from, to] = node.range ?? [0, 0];
    return { from: this.#from + from, to: this.#from + to };
  }

  #scalar(node: Node): ScalarNode {
    const plain = isScalar(node) ? node : null;
    return {
      kind: 'scalar',
      ...this.#span(node),
      // The key of a merge is a symbol.
      text: typeof plain?.value === 'string' ? plain.value : typeof plain?.value === 'symbol' ? '<<' : '',
      isPlain: plain?.type === 'PLAIN',
    };
  }

  #map(node: YAMLMap, depth: number): MapNode {
    const made = new Map<string, MapEntry>();
    const merged: MapEntry[] = [];
    for (const pair of node.items) {
      const key = this.#scalar(pair.key as Node);
      const value = pair.value === null || pair.value === undefined ? null : this.convert(pair.value as Node, depth + 1);
      if (key.text === '<<' && key.isPlain) merged.push(...this.#mergedEntries(value));
      else if (made.has(key.text)) throw new TwiceGiven(key.from);
      else made.set(key.text, { key, value: isNothing(value) ? null : value });
    }
    for (const entry of merged) if (!made.has(entry.key.text)) made.set(entry.key.text, entry);
    return { kind: 'map', ...this.#span(node), isFlow: node.flow === true, entries: made };
  }

  #mergedEntries(value: YamlNode | null): readonly MapEntry[] {
    const maps = value?.kind === 'sequence' ? value.items : [value];
    const all = maps.flatMap((map) => (map?.kind === 'map' ? [...map.entries.values()] : []));
    this.#count += all.length;
    if (this.#count > MAX_NODES) throw new TooMuch(`more than ${MAX_NODES} nodes`);
    return all;
  }

  #sequence(node: YAMLSeq, depth: number): SequenceNode {
    const list = node.items.map((item) => (item === null ? null : this.convert(item as Node, depth + 1)));
    return {
      kind: 'sequence',
      ...this.#span(node),
      isFlow: node.flow === true,
      items: list.map((item) => (isNothing(item) ? null : item)),
    };
  }
}

function isNothing(node: YamlNode | null): boolean {
  return node?.kind === 'scalar' && node.isPlain && /^(?:|~|null|Null|NULL)$/.test(node.text);
}

/**
 * Where the text nests deeper than any manifest, so that no recursive reader sees it; null when it
 * does not.
 */
function deepestIndent(document: string): number | null {
  let depth = 0;
  const bracket = /[[\]{}]/g;
  for (let found = bracket.exec(document); found !== null; found = bracket.exec(document)) {
    depth = found[0] === '[' || found[0] === '{' ? depth + 1 : Math.max(0, depth - 1);
    if (depth > MAX_DEPTH) return found.index;
  }
  return /^(?:- ){101}|^ {1000}/m.exec(document)?.index ?? null;
}

function sentence(message: string): string {
  const [first = ''] = message.split('\n');
  return excerpt(first.replace(/\.$/, ''), 160);
}
