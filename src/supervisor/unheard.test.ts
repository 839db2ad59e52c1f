import { describe, expect, it } from 'vitest';
import { makeNotice } from '../domain/notice.ts';
import { Unheard } from './unheard.ts';

const ADVICE = makeNotice({ cause: 'aws-rebalance', atMs: 0, source: 'metadata' });

/** Workers that were asked for as many saves as `asked` says. */
function makeWorkers(areThere = true) {
  const workers = {
    asked: 0,
    ask: () => {
      workers.asked++;
      return areThere;
    },
  };
  return workers;
}

describe('advice that nobody heard', () => {
  it('is told once, to the first workers that have begun', () => {
    const unheard = new Unheard();
    const [before, first, second] = [makeWorkers(), makeWorkers(), makeWorkers()];
    unheard.tell(before);
    unheard.add(ADVICE);
    unheard.add({ ...ADVICE, atMs: 5 });
    for (const workers of [first, second]) unheard.tell(workers);
    expect([before.asked, first.asked, second.asked]).toEqual([0, 1, 0]);
  });

  it('is told to nobody when it was taken back', () => {
    const unheard = new Unheard();
    const workers = makeWorkers();
    unheard.add(ADVICE);
    unheard.withdraw({ ...ADVICE, atMs: 9 });
    unheard.tell(workers);
    expect(workers.asked).toBe(0);
  });

  it('is kept for the next ones where nobody is there any more', () => {
    const unheard = new Unheard();
    unheard.add(ADVICE);
    for (const workers of [makeWorkers(false), makeWorkers()]) {
      unheard.tell(workers);
      expect(workers.asked).toBe(1);
    }
  });
});
