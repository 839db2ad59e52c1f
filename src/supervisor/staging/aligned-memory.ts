/** What file systems ask of memory, place and length of a write that goes past the page cache. */
export const ALIGNMENT = 4096;

/** What we use of it; the compiler knows it only together with a browser. */
declare const WebAssembly: {
  readonly Memory: new (pages: { readonly initial: number; readonly maximum: number }) => { readonly buffer: ArrayBuffer };
};

/** A page of WebAssembly. */
const PAGE_BYTES = 64 * 1024;

/**
 * Pieces of memory that begin where a page does, which no Buffer promises: the memory of WebAssembly does. `bytes` is a multiple of 64 KiB. Where
 * the address space is limited there is none of it, and the pieces lie anywhere.
 */
export function alignedBlocks(count: number, bytes: number): readonly Buffer[] {
  const pages = (count * bytes) / PAGE_BYTES;
  const memory = mapped(pages) ?? Buffer.allocUnsafeSlow(count * bytes);
  return Array.from({ length: count }, (_, index) => memory.subarray(index * bytes, (index + 1) * bytes));
}

function mapped(pages: number): Buffer | null {
  try {
    return Buffer.from(new WebAssembly.Memory({ initial: pages, maximum: pages }).buffer);
  } catch {
    return null;
  }
}
