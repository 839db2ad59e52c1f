import { expect, it } from 'vitest';
import { isNewEnough } from './python.ts';

it.each([
  ['3.9.0', true],
  ['3.14.1', true],
  ['4.0.0', true],
  ['3.8.20', false],
  ['2.7.18', false],
  ['', false],
])('Python %j is new enough for the SDK: %j', (version, isEnough) => {
  expect(isNewEnough(version)).toBe(isEnough);
});
