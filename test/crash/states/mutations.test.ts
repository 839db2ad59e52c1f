import { describe, expect, it } from 'vitest';
import { IS_WHOLE } from '../../support/slice.ts';
import { tryEveryMutation } from './every-mutation.ts';
import { HARMLESS } from './harmless-mutations.ts';

/** Longer scenarios take minutes; `npm run crash:long -- --part states` tries them too. */
const MOST_EVENTS = IS_WHOLE ? Infinity : 20;
const harmless = HARMLESS.flatMap(({ mutations: steps }) => steps);

describe('the protocol with one thing wrong', () => {
  it('is detected for every missing sync and every two swapped steps, except for the known harmless ones', async () => {
    const { found, survivors, states } = await tryEveryMutation(MOST_EVENTS);
    expect(found.filter((step) => harmless.includes(step))).toEqual([]);
    expect(found.length).toBeGreaterThan(30);
    expect(states).toBeGreaterThan(1000);
    if (IS_WHOLE) expect(survivors).toEqual(harmless.toSorted());
  });
});
