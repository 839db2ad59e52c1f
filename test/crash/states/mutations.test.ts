import { describe, expect, it } from 'vitest';
import { tryEveryMutation } from './every-mutation.ts';
import { HARMLESS } from './harmless-mutations.ts';

describe('the protocol with one thing wrong', () => {
  it('is found out, whichever sync is left out and whichever two steps are swapped, unless it is known to be harmless', async () => {
    const { found, survivors, states } = await tryEveryMutation();
    expect(survivors).toEqual(HARMLESS.flatMap(({ mutations: steps }) => steps).sort());
    expect(found.length).toBeGreaterThan(30);
    expect(states).toBeGreaterThan(15_000);
  });
});
