import { describe, expect, it } from 'vitest';
import { makeNotice } from '../../domain/grace/notice.ts';
import { PendingAdvice } from './pending-advice.ts';

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

describe('advice that came while no rank was attached', () => {
  it('asks the first workers that have made a step for one save', () => {
    const unheard = new PendingAdvice();
    const [before, first, second] = [makeWorkers(), makeWorkers(), makeWorkers()];
    unheard.tell(before);
    unheard.add(ADVICE);
    unheard.add({ ...ADVICE, atMs: 5 });
    for (const workers of [first, second]) unheard.tell(workers);
    expect([before.asked, first.asked, second.asked]).toEqual([0, 1, 0]);
  });

  it('asks for no save after it was withdrawn', () => {
    const unheard = new PendingAdvice();
    const workers = makeWorkers();
    unheard.add(ADVICE);
    unheard.withdraw({ ...ADVICE, atMs: 9 });
    unheard.tell(workers);
    expect(workers.asked).toBe(0);
  });

  it('is kept for the next workers when the current ones have left', () => {
    const unheard = new PendingAdvice();
    unheard.add(ADVICE);
    for (const workers of [makeWorkers(false), makeWorkers()]) {
      unheard.tell(workers);
      expect(workers.asked).toBe(1);
    }
  });
});
