import { expect, it } from 'vitest';
import { Slots } from './slots.ts';

/** Work that ends when the test releases it; every start is recorded. */
function gated(slots: Slots) {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const ask = (of: string): Promise<void> =>
    slots.run(() => {
      begun.push(of);
      return new Promise<void>((end) => ends.push(end));
    }, of);
  const endOldest = (): void => ends.shift()?.();
  return { begun, ask, endOldest };
}

/** Waits until pending requests have been granted. */
const aWhile = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

it('no more work runs than there are slots', async () => {
  const { begun, ask, endOldest } = gated(new Slots(2));
  for (let count = 0; count < 3; count++) void ask('a');
  await aWhile();
  expect(begun).toHaveLength(2);
  endOldest();
  await aWhile();
  expect(begun).toHaveLength(3);
});

it('files take turns, even when one of them asked for all its slots first', async () => {
  const { begun, ask } = gated(new Slots(4));
  for (const of of ['a', 'a', 'a', 'a', 'b', 'b', 'b', 'c']) void ask(of);
  await aWhile();
  expect(begun).toEqual(['a', 'b', 'c', 'a']);
});

it('the next slot goes to the file with the fewest running transfers', async () => {
  const { begun, ask, endOldest } = gated(new Slots(2));
  for (const of of ['a', 'b', 'a', 'b']) void ask(of);
  await aWhile();
  endOldest();
  await aWhile();
  expect(begun).toEqual(['a', 'b', 'a']);
});

it('work that fails frees its slot', async () => {
  const slots = new Slots(1);
  await expect(slots.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await slots.run(() => Promise.resolve('yes'))).toBe('yes');
});
