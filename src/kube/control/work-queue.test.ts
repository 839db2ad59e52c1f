import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../core/clock.ts';
import { createRng } from '../../core/rng.ts';
import { type Reconciled, runController } from './controller.ts';
import { WorkQueue } from './work-queue.ts';

const { signal } = new AbortController();

function made(): { readonly clock: VirtualClock; readonly queue: WorkQueue } {
  const clock = new VirtualClock();
  return { clock, queue: new WorkQueue({ clock, rng: createRng(1), pauses: { firstMs: 100, mostMs: 1000 } }) };
}

/** All keys that are ready now, taken and done. */
async function drained(queue: WorkQueue): Promise<readonly string[]> {
  const keys: string[] = [];
  while (queue.depth > 0) {
    const key = await queue.take({ signal });
    keys.push(key);
    queue.done(key);
  }
  return keys;
}

describe('the work queue', () => {
  it('gives a key that was added many times one turn, in the order of arrival', async () => {
    const { queue } = made();
    for (const key of ['a', 'b', 'a', 'c', 'b']) queue.add(key);
    expect(await drained(queue)).toEqual(['a', 'b', 'c']);
  });

  it('gives a higher priority its turn first, and keeps the highest that was given', async () => {
    const { queue } = made();
    queue.add('a');
    queue.add('b', 1);
    queue.add('c', 1);
    queue.add('a', 2);
    queue.add('a');
    expect(await drained(queue)).toEqual(['a', 'b', 'c']);
  });

  it('never gives out a key that is taken, and gives it another turn afterwards', async () => {
    const { queue } = made();
    queue.add('a');
    expect(await queue.take({ signal })).toBe('a');
    queue.add('a');
    expect(queue.depth).toBe(0);
    queue.done('a');
    expect(await drained(queue)).toEqual(['a']);
    expect(queue.isIdle).toBe(true);
  });

  it('lets a key rest after its turn, which ends with one turn if it was added meanwhile', async () => {
    const { clock, queue } = made();
    for (const isAddedEarly of [true, false]) {
      queue.add('a');
      await queue.take({ signal });
      if (isAddedEarly) queue.add('a');
      queue.done('a', 500);
      if (!isAddedEarly) for (let times = 0; times < 3; times++) queue.add('a', times);
      queue.add('b');
      expect(await drained(queue)).toEqual(['b']);
      await clock.advance(499);
      expect(queue.depth).toBe(0);
      await clock.advance(1);
      expect(await drained(queue)).toEqual(['a']);
    }
  });

  it('gives a key that has rested its turn at once', async () => {
    const { clock, queue } = made();
    queue.add('a');
    queue.done(await queue.take({ signal }), 500);
    await clock.advance(500);
    expect(queue.depth).toBe(0);
    queue.add('a');
    expect(await drained(queue)).toEqual(['a']);
  });

  it('makes a key ready after the earliest of its delays, once', async () => {
    const { clock, queue } = made();
    queue.addAfter('a', 500);
    queue.addAfter('a', 200);
    queue.addAfter('a', 900);
    await clock.advance(199);
    expect(queue.depth).toBe(0);
    await clock.advance(1);
    expect(await drained(queue)).toEqual(['a']);
    await clock.advance(10_000);
    expect(queue.depth).toBe(0);
  });

  it('drops the delay of a key that has its turn earlier', async () => {
    const { clock, queue } = made();
    queue.addAfter('a', 500);
    queue.add('a');
    expect(await drained(queue)).toEqual(['a']);
    await clock.advance(1000);
    expect(queue.depth).toBe(0);
    expect(clock.waiting).toBe(0);
  });

  it('retries after pauses that double up to a bound, until the key is forgotten', async () => {
    const { clock, queue } = made();
    const pauses: number[] = [];
    for (let i = 0; i < 6; i++) {
      if (i === 5) queue.forget('a');
      const beginMs = clock.monotonic();
      queue.retry('a');
      while (queue.depth === 0) await clock.advance(10);
      pauses.push(clock.monotonic() - beginMs);
      await drained(queue);
    }
    for (const [i, nominal] of [100, 200, 400, 800, 1000, 100].entries()) {
      expect(pauses[i]).toBeGreaterThanOrEqual(nominal * 0.8);
      expect(pauses[i]).toBeLessThanOrEqual(nominal * 1.2 + 10);
    }
  });

  it('wakes another taker when the one that was woken is called off', async () => {
    const { queue } = made();
    const first = new AbortController();
    const [one, two] = [queue.take({ signal: first.signal }), queue.take({ signal })];
    queue.add('a');
    first.abort(new Error('called off'));
    const settled = await Promise.race([one.catch(() => 'none'), two]);
    if (settled === 'none') expect(await two).toBe('a');
    else expect(settled).toBe('a');
  });
});

describe('a controller', () => {
  it('retries errors with pauses, looks again when asked, and leaves what is stuck until a change', async () => {
    const { clock, queue } = made();
    const seen: string[] = [];
    const outcomes: Readonly<Record<string, readonly Reconciled[]>> = {
      failing: [{ kind: 'retry', reason: 'conflict' }, { kind: 'settled' }],
      timed: [{ kind: 'again', afterMs: 5000 }, { kind: 'settled' }],
      stuck: [{ kind: 'stuck', reason: 'invalid' }, { kind: 'settled' }],
    };
    const stop = new AbortController();
    const running = runController(
      {
        queue,
        workers: 2,
        reconcile: (key) => {
          const turn = seen.filter((other) => other === key).length;
          seen.push(key);
          if (key === 'throwing' && turn === 0) throw new Error('a fault');
          return Promise.resolve(outcomes[key]?.[turn] ?? { kind: 'settled' });
        },
        onOutcome: () => undefined,
      },
      stop.signal,
    );
    for (const key of ['failing', 'timed', 'stuck', 'throwing']) queue.add(key);
    await clock.advance(1000);
    expect([...seen].sort()).toEqual(['failing', 'failing', 'stuck', 'throwing', 'throwing', 'timed']);
    await clock.advance(4000);
    expect(seen.filter((key) => key === 'timed')).toHaveLength(2);
    queue.add('stuck');
    await clock.advance(0);
    expect(seen.filter((key) => key === 'stuck')).toHaveLength(2);
    stop.abort(new Error('over'));
    await running;
  });
});
