import { expect, it } from 'vitest';
import { Lanes } from './lanes.ts';

it('a lane has one user at a time, whoever waits gets it next, and it is given back also by one that fails', async () => {
  const lanes = new Lanes(2);
  const busy = new Set<number>();
  const order: number[] = [];
  const use = (index: number): Promise<void> =>
    lanes.use(async (lane) => {
      expect(busy.has(lane)).toBe(false);
      busy.add(lane);
      order.push(index);
      await Promise.resolve();
      busy.delete(lane);
      if (index === 1) throw new Error('this one fails');
    });
  const ends = await Promise.allSettled([0, 1, 2, 3, 4].map(use));
  expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled', 'fulfilled']);
  expect(order).toEqual([0, 1, 2, 3, 4]);
});
