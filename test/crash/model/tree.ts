import { hash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Every entry below a folder: relative path to the bytes of a file, or null for a folder. Parents
 * come before their children.
 */
export type Tree = ReadonlyMap<string, Uint8Array | null>;

export function readTree(root: string): Tree {
  const tree = new Map<string, Uint8Array | null>();
  const visit = (path: string): void => {
    for (const entry of readdirSync(join(root, path), { withFileTypes: true })) {
      const child = path === '' ? entry.name : `${path}/${entry.name}`;
      tree.set(child, entry.isDirectory() ? null : readFileSync(join(root, child)));
      if (entry.isDirectory()) visit(child);
    }
  };
  visit('');
  return tree;
}

/** All changes have the same time: times are outside this model. */
const WHEN = new Date('2020-01-01');

/** Writes the tree into a new folder. */
export function materialise(tree: Tree, root: string): void {
  mkdirSync(root);
  for (const [path, content] of tree) {
    const target = join(root, path);
    if (content === null) mkdirSync(target);
    else {
      writeFileSync(target, content);
      utimesSync(target, WHEN, WHEN);
    }
  }
}

const digests = new WeakMap<Uint8Array, string>();

/** The part of an entry in the key of a tree: equal for equal kinds and bytes. */
export function entryKey(content: Uint8Array | null): string {
  if (content === null) return '/';
  const digest = digests.get(content) ?? hash('sha1', content, 'base64');
  digests.set(content, digest);
  return digest;
}

/**
 * Two trees are equal if their keys are: names, kinds and bytes. The entries are sorted by path.
 */
export function treeKey(entries: readonly (readonly [path: string, key: string])[]): string {
  let text = '';
  for (const [path, key] of entries) text += `${path}\n${key}\n`;
  return hash('sha1', text, 'base64');
}
