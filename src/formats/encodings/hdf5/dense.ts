import { FractalHeap } from './fractal-heap.ts';
import type { Image } from './file-image.ts';
import { walkTree2 } from './tree-2.ts';

/**
 * Links or attributes too many for the object's header: a B-tree of ids, and a heap that holds the
 * link or attribute for each id.
 */
export interface Dense {
  readonly heap: number;
  readonly index: number;
  /** Kind of the records of the index. */
  readonly kind: number;
  /** Where the id begins in a record; it extends to the end, or as far as its own sizes require. */
  readonly idAt: number;
}

/** Calls `visit` for each link or attribute, with its bytes and their place. */
export function walkDense(image: Image, { heap, index, kind, idAt }: Dense, visit: (bytes: Buffer, at: number) => void): void {
  const objects = new FractalHeap(image, heap);
  walkTree2(image, { address: index, kinds: [kind] }, (record) => {
    const { bytes, at } = objects.object(record.subarray(idAt));
    visit(bytes, at);
  });
}
