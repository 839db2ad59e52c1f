import { expect, it } from 'vitest';
import { VirtualClock } from '../../core/clock.ts';
import { until } from './until.ts';

function waiting(look: () => true | null, isInVain: () => boolean) {
  const clock = new VirtualClock();
  const { signal } = new AbortController();
  const waited = until(look, { clock, boundMs: 60_000, isInVain, signal, tooLate: () => new Error('too late') });
  return { clock, waited };
}

it('a wait for a node that has ended is over three seconds later, long before its bound', async () => {
  const { clock, waited } = waiting(
    () => null,
    () => true,
  );
  const refused = expect(waited).rejects.toThrow('too late');
  await clock.advance(3100);
  await refused;
});

it('the last thing that a node did before its end is still seen', async () => {
  let isThere = false;
  const { clock, waited } = waiting(
    () => (isThere ? true : null),
    () => true,
  );
  await clock.advance(2000);
  isThere = true;
  await clock.advance(100);
  expect(await waited).toBe(true);
});

it('a wait goes on while the other node lives', async () => {
  let isThere = false;
  const { clock, waited } = waiting(
    () => (isThere ? true : null),
    () => false,
  );
  await clock.advance(59_000);
  isThere = true;
  await clock.advance(500);
  expect(await waited).toBe(true);
});
