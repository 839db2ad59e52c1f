import { Fault } from '../../reading/fault.ts';
import type { Image } from './file-image.ts';

/** The place and kind of a version 1 B-tree. */
export interface Tree1 {
  readonly address: number;
  /** 0 for groups, 1 for chunks. */
  readonly kind: 0 | 1;
  readonly keyBytes: number;
}

const WHAT = 'a B-tree node';

/**
 * Visits the leaves of a version 1 B-tree: the target of each entry, with the key before it. The
 * tree has no checksums.
 */
export function walkTree1(image: Image, tree: Tree1, visit: (key: Buffer, child: number) => void): void {
  const seen = new Set<number>();
  const pending: { readonly address: number; readonly level: number | null }[] = [{ address: tree.address, level: null }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (seen.has(next.address))
      throw new Fault('HDF5_STRUCTURE_INVALID', 'a B-tree leads back into itself', { offset: image.at(next.address) });
    seen.add(next.address);
    image.budget.spend('entries');
    const { level, children } = readNode(image, tree, next.address);
    if (next.level !== null && level !== next.level) {
      throw new Fault(
        'HDF5_STRUCTURE_INVALID',
        `${WHAT} at byte ${image.at(next.address)} is on level ${level}, it must be on ${next.level}`,
        {
          offset: image.at(next.address),
          expected: String(next.level),
          found: String(level),
        },
      );
    }
    image.budget.spend('entries', children.length);
    if (level === 0) for (const { key, address } of children) visit(key, address);
    else for (const { address } of children.reverse()) pending.push({ address, level: level - 1 });
  }
}

interface Node {
  readonly level: number;
  readonly children: { readonly key: Buffer; readonly address: number }[];
}

function readNode(image: Image, { kind, keyBytes }: Tree1, address: number): Node {
  const headBytes = 8 + 2 * image.widths.address;
  const count = image.read(address, headBytes, WHAT).readUInt16LE(6);
  const fields = image.fields(address, headBytes + count * (keyBytes + image.widths.address) + keyBytes, WHAT);
  fields.signature('TREE');
  const found = fields.u8();
  if (found !== kind) fields.fail(`it is of kind ${found}, it must be ${kind}`);
  const level = fields.u8();
  fields.skip(headBytes - 6);
  const children = Array.from({ length: count }, () => {
    const key = fields.bytes(keyBytes);
    return { key, address: fields.address() ?? fields.fail('a child lies nowhere') };
  });
  return { level, children };
}
