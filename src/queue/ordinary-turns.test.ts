import { describe, expect, it } from 'vitest';
import { session, turnOf } from '../../test/queue/drive.ts';
import { asOrdinary, ordinaryAnswers } from './ordinary-turns.ts';

const LIMITS = { now: 1000, dueAt: 31_000, room: 100 };
const [anna, bert] = [session('a/1'), session('b/1')];
const commit = (item: number) => ({ item, token: 1, generation: 1, result: '"r"' });

describe('ordinary turns', () => {
  it('hand in results, in the order of items, and ask for items, in the order of turns', () => {
    const turns = [turnOf('q', anna, { commits: [commit(7)], lease: 2 }), turnOf('q', bert, { commits: [commit(3)] })];
    expect(asOrdinary(turns, LIMITS)).toEqual({
      ...LIMITS,
      queue: 'q',
      commits: [
        { ...commit(3), session: 'b/1', node: 'b' },
        { ...commit(7), session: 'a/1', node: 'a' },
      ],
      wants: [
        { session: 'a/1', most: 2 },
        { session: 'b/1', most: 0 },
      ],
    });
  });

  it.each([
    ['no turn', []],
    ['two queues', [turnOf('q', anna, { lease: 1 }), turnOf('r', bert, { lease: 1 })]],
    ['an error', [turnOf('q', anna, { fails: [{ item: 1, token: 1, error: 'E' }] })]],
    ['an item given back', [turnOf('q', anna, { releases: [{ item: 1, token: 1, spentMs: 0 }] })]],
    ['progress', [turnOf('q', anna, { progress: [{ item: 1, token: 1, state: '1' }] })]],
    ['a notice', [turnOf('q', anna, { notice: 'SIGTERM' })]],
    ['two commits of one item', [turnOf('q', anna, { commits: [commit(1)] }), turnOf('q', bert, { commits: [commit(1)] })]],
  ])('are not: %s', (_, turns) => {
    expect(asOrdinary(turns, LIMITS)).toBeNull();
  });

  it('report a drained queue only where a worker got less than it asked for', () => {
    const turns = [turnOf('q', anna, { commits: [commit(1)], lease: 1 })];
    const answer = { leases: [[]], isPaused: false };
    const written = { commits: [{ verdict: 'write', standing: null }], held: [], leases: [], isPaused: false };
    expect(ordinaryAnswers(turns, { ...answer, openItems: 0 })).toEqual([{ ...written, isDrained: true }]);
    expect(ordinaryAnswers(turns, { ...answer, openItems: 3 })).toEqual([{ ...written, isDrained: false }]);
    expect(ordinaryAnswers(turns, { ...answer, openItems: null })).toEqual([{ ...written, isDrained: false }]);
  });
});
