import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Everything below a folder: relative path to the bytes of a file, or null for a folder. Parents stand before their children. */
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

/** Writes the tree into a folder that is not there yet. */
export function materialise(tree: Tree, root: string): void {
  mkdirSync(root);
  for (const [path, content] of tree) {
    if (content === null) mkdirSync(join(root, path));
    else writeFileSync(join(root, path), content);
  }
}

/** Two trees are equal when their keys are: names, kinds and bytes. */
export function treeKey(tree: Tree): string {
  const hash = createHash('sha1');
  for (const path of [...tree.keys()].sort()) {
    const content = tree.get(path) ?? null;
    hash.update(content === null ? `${path}/\n` : `${path}\n${content.length}\n`);
    if (content !== null) hash.update(content);
  }
  return hash.digest('base64');
}
