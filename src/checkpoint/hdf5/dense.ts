import { FractalHeap } from './fractal-heap.ts';
import type { Image } from './image.ts';
import { walkTree2 } from './tree-2.ts';

/** Links or attributes that are too many for the object's header: a B-tree of ids, and a heap that holds what they stand for. */
export interface Dense {
  readonly heap: number;
  readonly index: number;
  /** Kind of the records of the index. */
  readonly kind: number;
  /** Where in a record the id begins; it goes on to the end, or to what its own sizes need. */
  readonly idAt: number;
}

export function walkDense(image: Image, { heap, index, kind, idAt }: Dense, visit: (bytes: Buffer, at: number) => void): void {
  const objects = new FractalHeap(image, heap);
  walkTree2(image, { address: index, kinds: [kind] }, (record) => {
    const { bytes, at } = objects.object(record.subarray(idAt));
    visit(bytes, at);
  });
}
