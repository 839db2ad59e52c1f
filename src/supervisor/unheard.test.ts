import { describe, expect, it } from 'vitest';
import { makeNotice } from '../domain/notice.ts';
import { Unheard } from './unheard.ts';

const ADVICE = makeNotice({ cause: 'aws-rebalance', atMs: 0, source: 'metadata' });

/** A life that begins when it is told to; `asked` counts what it was asked for. */
function makeLife(isThere = true) {
  const begun = Promise.withResolvers<void>();
  const life = {
    begun: begun.promise,
    begin: begun.resolve,
    asked: 0,
    ask: () => {
      life.asked++;
      return isThere;
    },
  };
  return life;
}

describe('advice that nobody heard', () => {
  it('is told once, to the first life that has begun', async () => {
    const unheard = new Unheard();
    const [never, first, second] = [makeLife(), makeLife(), makeLife()];
    void unheard.tell(never);
    const told = [first, second].map((life) => unheard.tell(life));
    unheard.add(ADVICE);
    unheard.add({ ...ADVICE, atMs: 5 });
    expect(first.asked).toBe(0);
    first.begin();
    await told[0];
    second.begin();
    await told[1];
    expect([never.asked, first.asked, second.asked]).toEqual([0, 1, 0]);
  });

  it('is told to nobody when it was taken back', async () => {
    const unheard = new Unheard();
    const life = makeLife();
    unheard.add(ADVICE);
    unheard.withdraw({ ...ADVICE, atMs: 9 });
    life.begin();
    await unheard.tell(life);
    expect(life.asked).toBe(0);
  });

  it('is kept for the next life where nobody is there any more', async () => {
    const unheard = new Unheard();
    unheard.add(ADVICE);
    for (const life of [makeLife(false), makeLife()]) {
      life.begin();
      await unheard.tell(life);
      expect(life.asked).toBe(1);
    }
  });
});
