import type { Chunk } from './metadata.ts';

/** Comparisons of two chunks that one checkpoint may cost; beyond them chunks are compared by volume alone. */
export class PairBudget {
  left = 4_000_000;
}

/** What is wrong with the chunks of a tensor, in words, or null when they fill it without overlap. */
export function chunkFault(size: readonly number[], chunks: readonly Chunk[], budget: PairBudget): string | null {
  let covered = 0;
  for (const chunk of chunks) {
    if (!fits(size, chunk)) return `a chunk at [${chunk.offsets.join(', ')}] of [${chunk.sizes.join(', ')}] reaches out of the tensor`;
    covered += volume(chunk.sizes);
  }
  const whole = volume(size);
  if (covered !== whole) return `chunks hold ${covered} of ${whole} elements`;
  return chunks.length > 1 && hasOverlap(chunks, budget) ? 'two chunks overlap' : null;
}

export function volume(sizes: readonly number[]): number {
  return sizes.includes(0) ? 0 : sizes.reduce((product, size) => product * size, 1);
}

function fits(size: readonly number[], { offsets, sizes }: Chunk): boolean {
  if (offsets.length !== size.length || sizes.length !== size.length) return false;
  return size.every((length, dimension) => (offsets[dimension] ?? 0) + (sizes[dimension] ?? 0) <= length);
}

/** Sorted by the first offset, a chunk needs comparing only with those that begin before it ends. */
function hasOverlap(chunks: readonly Chunk[], budget: PairBudget): boolean {
  const sorted = chunks.filter(({ sizes }) => volume(sizes) > 0).sort((a, b) => (a.offsets[0] ?? 0) - (b.offsets[0] ?? 0));
  for (const [index, chunk] of sorted.entries()) {
    const end = (chunk.offsets[0] ?? 0) + (chunk.sizes[0] ?? 1);
    for (let next = index + 1; next < sorted.length && budget.left > 0; next++) {
      const other = sorted[next] as Chunk;
      if ((other.offsets[0] ?? 0) >= end) break;
      budget.left--;
      if (intersects(chunk, other)) return true;
    }
  }
  return false;
}

function intersects(a: Chunk, b: Chunk): boolean {
  return a.offsets.every((offset, dimension) => {
    const other = b.offsets[dimension] ?? 0;
    return offset < other + (b.sizes[dimension] ?? 0) && other < offset + (a.sizes[dimension] ?? 0);
  });
}
