/** The alignment of memory, position and length that file systems require for direct writes. */
export const ALIGNMENT = 4096;

/** The part of WebAssembly that we use; the compiler only knows it with the browser's types. */
declare const WebAssembly: {
  readonly Memory: new (pages: { readonly initial: number; readonly maximum: number }) => { readonly buffer: ArrayBuffer };
};

/** A page of WebAssembly. */
const PAGE_BYTES = 64 * 1024;

/**
 * Allocates blocks of memory that begin at a page boundary. A Buffer promises no alignment; the
 * memory of WebAssembly does. `bytes` is a multiple of 64 KiB. Where the address space is limited,
 * the blocks are not aligned.
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
