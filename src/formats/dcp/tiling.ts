import { type Chunk, type Chunks, volume } from './chunks.ts';

/**
 * How many comparisons of two chunks one checkpoint may cost; past this limit only volumes are
 * compared.
 */
export class PairBudget {
  left = 4_000_000;
}

/**
 * Describes what is wrong with the chunks of a tensor; returns null when they fill it without
 * overlap.
 */
export function chunkFault(size: readonly number[], chunks: Chunks, budget: PairBudget): string | null {
  let covered = 0;
  for (let index = 0; index < chunks.length; index++) {
    const chunk = chunks.at(index);
    if (!fits(size, chunk)) return `a chunk at [${chunk.offsets.join(', ')}] of [${chunk.sizes.join(', ')}] reaches out of the tensor`;
    covered += volume(chunk.sizes);
  }
  const whole = volume(size);
  if (covered !== whole) return `chunks hold ${covered} of ${whole} elements`;
  return chunks.length > 1 && hasOverlap(chunks, budget) ? 'two chunks overlap' : null;
}

function fits(size: readonly number[], { offsets, sizes }: Chunk): boolean {
  if (offsets.length !== size.length || sizes.length !== size.length) return false;
  return size.every((length, dimension) => (offsets[dimension] ?? 0) + (sizes[dimension] ?? 0) <= length);
}

/**
 * In order of the first offset, a chunk needs comparing only with the chunks that begin before its
 * end.
 */
function hasOverlap(chunks: Chunks, budget: PairBudget): boolean {
  const order = orderByStart(chunks);
  for (let at = 0; at < order.length; at++) {
    const chunk = chunks.at(order[at] as number);
    if (volume(chunk.sizes) === 0) continue;
    const end = (chunk.offsets[0] ?? 0) + (chunk.sizes[0] ?? 1);
    for (let next = at + 1; next < order.length && budget.left > 0; next++) {
      const other = chunks.at(order[next] as number);
      if ((other.offsets[0] ?? 0) >= end) break;
      budget.left--;
      if (volume(other.sizes) > 0 && intersects(chunk, other)) return true;
    }
  }
  return false;
}

/**
 * Returns the indexes of the chunks by their first offset. Most writers already list them in this
 * order.
 */
function orderByStart(chunks: Chunks): Int32Array {
  const starts = Float64Array.from({ length: chunks.length }, (_, index) => chunks.offsets(index)[0] ?? 0);
  const order = Int32Array.from(starts, (_, index) => index);
  const isSorted = starts.every((start, index) => index === 0 || (starts[index - 1] as number) <= start);
  return isSorted ? order : order.sort((a, b) => (starts[a] as number) - (starts[b] as number));
}

function intersects(a: Chunk, b: Chunk): boolean {
  return a.offsets.every((offset, dimension) => {
    const other = b.offsets[dimension] ?? 0;
    return offset < other + (b.sizes[dimension] ?? 0) && other < offset + (a.sizes[dimension] ?? 0);
  });
}
