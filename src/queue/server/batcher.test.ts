import { expect, it } from 'vitest';
import { VirtualClock } from '../../core/clock.ts';
import { Batcher } from './batcher.ts';

/** A database that takes 10 ms for a batch. */
function slowBatcher(clock: VirtualClock, batches: number[][]): Batcher<number, number> {
  const run = async (list: readonly number[]): Promise<readonly number[]> => {
    batches.push([...list]);
    await clock.sleep(10);
    return list;
  };
  return new Batcher(run, { most: 100, clock });
}

const soon = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('two halves of the workers that take turns become one batch', async () => {
  const clock = new VirtualClock();
  const batches: number[][] = [];
  const batcher = slowBatcher(clock, batches);
  const first = [batcher.add(1), batcher.add(2)];
  await soon();
  const second = [batcher.add(3), batcher.add(4)];
  await clock.advance(10);
  await Promise.all(first);
  const again = [batcher.add(1), batcher.add(2)];
  await soon();
  await clock.advance(10);
  await Promise.all([...second, ...again]);
  expect(batches).toEqual([
    [1, 2],
    [3, 4, 1, 2],
  ]);
});

it('a batch waits for at most half the time of the last one', async () => {
  const clock = new VirtualClock();
  const batches: number[][] = [];
  const batcher = slowBatcher(clock, batches);
  const first = [batcher.add(1), batcher.add(2)];
  await soon();
  const second = batcher.add(3);
  await clock.advance(10);
  await Promise.all(first);
  await clock.advance(4);
  expect(batches).toHaveLength(1);
  await clock.advance(1);
  await soon();
  expect(batches).toEqual([[1, 2], [3]]);
  await clock.advance(10);
  await second;
});

it('a lone worker that comes back at once does not wait for others', async () => {
  const clock = new VirtualClock();
  const batches: number[][] = [];
  const batcher = slowBatcher(clock, batches);
  const first = batcher.add(1);
  await clock.advance(10);
  await first;
  const second = batcher.add(2);
  // Promises alone, without a turn of the event loop.
  for (let hop = 0; hop < 10; hop++) await Promise.resolve();
  expect(batches).toEqual([[1], [2]]);
  await clock.advance(10);
  await second;
});
