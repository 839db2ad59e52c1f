import { expect, it } from 'vitest';
import { whatIsElsewhere, whatIsLeft } from './left.ts';

const PLACE = { id: '0123abcd', folder: '/cache/clusters/0123abcd' };

it('that nothing was left is said only where nothing is', () => {
  expect(whatIsLeft([])).toBe('Nothing of a cluster was left behind.\n');
  expect(whatIsLeft([PLACE])).toMatch(
    /^Not everything could be taken down: \/cache\/clusters\/0123abcd is left, and .* down` tries again\.\n$/,
  );
});

it('what cannot be judged from here is named, and what cannot be found is not', () => {
  expect(whatIsElsewhere([])).toBe('');
  expect(whatIsElsewhere([PLACE])).toMatch(/^Left alone: \/cache\/clusters\/0123abcd, made in another container/);
});
