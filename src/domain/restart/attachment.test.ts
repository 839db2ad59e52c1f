import { describe, expect, it } from 'vitest';
import { unattachedSentence, USUAL_ATTACH_MS } from './attachment.ts';

const FACTS = { ranForMs: USUAL_ATTACH_MS, hasAttached: false, isWatched: false };

describe('a trainer without an attached rank', () => {
  it('is reported, with the ways out, once it has run longer than a trainer needs to start', () => {
    expect(unattachedSentence(FACTS)).toBe(
      'no rank has attached in 2m: nothing is saved unless the trainer calls holdfast.attach(), or --watch=FOLDER names where it saves by itself',
    );
  });

  it.each([
    ['has only just begun', { ranForMs: USUAL_ATTACH_MS - 1 }],
    ['has attached', { hasAttached: true }],
    ['saves by itself, and is watched', { isWatched: true }],
  ])('is not reported when it %s', (_, facts) => {
    expect(unattachedSentence({ ...FACTS, ...facts })).toBeNull();
  });
});
