import { expect, it } from 'vitest';
import { integrityStatus } from './make-report.ts';

const all = { checks: 3, payloadBytes: 100, coveredBytes: 100, checkedBytes: 100, failures: 0, level: 'deep' } as const;

it.each([
  ['checked when every payload byte is covered and matched', all, 'checked'],
  ['bad when one comparison failed', { ...all, failures: 1, checkedBytes: 60 }, 'bad'],
  ['not-checked when this level does not read the bytes', { ...all, level: 'quick', checkedBytes: 0 }, 'not-checked'],
  ['incomplete when checksums cover only part of the payload', { ...all, coveredBytes: 60, checkedBytes: 60 }, 'incomplete'],
  ['incomplete when part of what is covered could not be read', { ...all, checkedBytes: 60 }, 'incomplete'],
  ['none when no checksum is stored', { ...all, checks: 0, coveredBytes: 0, checkedBytes: 0 }, 'none'],
  ['none when the only checksums cover no payload', { ...all, coveredBytes: 0, checkedBytes: 0 }, 'none'],
] as const)('integrity is %s', (_, coverage, status) => {
  expect(integrityStatus(coverage)).toBe(status);
});
