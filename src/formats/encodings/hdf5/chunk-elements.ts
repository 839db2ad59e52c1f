import type { Fields } from './field-widths.ts';
import type { Widths } from './field-widths.ts';

/** A chunk as an index describes it. */
export interface ChunkRecord {
  readonly address: number;
  /** Stored bytes; null when the index does not give them, because no filter changes them. */
  readonly size: number | null;
  readonly filterMask: number;
}

const UNFILTERED = 0;
const FILTERED = 1;

/**
 * Decodes the elements of array indexes: an address, and for filtered chunks their size and the
 * skipped filters.
 */
export class ChunkElements {
  readonly #widths: Widths;
  readonly #visit: (chunk: ChunkRecord) => void;
  #sizeBytes = 0;

  constructor(widths: Widths, visit: (chunk: ChunkRecord) => void) {
    this.#widths = widths;
    this.#visit = visit;
  }

  /**
   * Takes the size of an element from the header of the index, which gives the width of a chunk's
   * size.
   */
  demandSize(fields: Fields, client: number, elementBytes: number): void {
    this.#sizeBytes = client === FILTERED ? elementBytes - this.#widths.address - 4 : 0;
    const isKnown =
      client === UNFILTERED ? elementBytes === this.#widths.address : client === FILTERED && this.#sizeBytes >= 1 && this.#sizeBytes <= 8;
    if (!isKnown) fields.fail(`its elements are of kind ${client} and take ${elementBytes} bytes`);
  }

  read(fields: Fields, client: number, count: number): void {
    for (let i = 0; i < count; i++) {
      const address = fields.address();
      const size = client === FILTERED ? fields.uint(this.#sizeBytes) : null;
      const filterMask = client === FILTERED ? fields.u32() : 0;
      if (address !== null) this.#visit({ address, size, filterMask });
    }
  }
}
