import { describe, expect, it } from 'vitest';
import { weightsIn } from './weights.ts';

const [ONE, OTHER] = ['a'.repeat(64), 'b'.repeat(64)];

describe('what the ranks of a run have learned', () => {
  it('is what all of them say', () => {
    expect(weightsIn(`start 0 0 7\nfinished 1 ${ONE}\nfinished 0 ${ONE}`, 2)).toEqual({ weights: ONE });
  });

  it.each([
    ['nobody says anything', '', 'rank 0, 1 of 2 did not say that it is finished'],
    ['a rank is missing', `finished 0 ${ONE}\nfinished 0 ${ONE}`, 'rank 1 of 2 did not say that it is finished'],
    ['one says something else', `finished 0 ${ONE}\nfinished 1 ${OTHER}`, 'the ranks ended with different weights'],
    ['they say nothing but the word', 'finished 0 \nfinished 1 ', '"" are no weights'],
    ['they say half of it', 'finished 0 abc\nfinished 1 abc', '"abc" are no weights'],
  ])('is not known when %s', (_, stdout, fault) => {
    expect(weightsIn(stdout, 2)).toEqual({ fault: expect.stringContaining(fault) as string });
  });
});
