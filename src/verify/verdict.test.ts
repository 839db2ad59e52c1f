import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Effect } from '../evidence/codes/kind.ts';
import { canResume, decideVerdict, type IntegrityStatus } from './verdict.ts';

const clean = { effects: new Set<Effect>(), integrity: 'checked' as IntegrityStatus, hasOptimizer: true };

describe('the verdict', () => {
  it.each([
    [
      'a live writer beats everything',
      { ...clean, effects: new Set<Effect>(['in-progress', 'corrupt', 'zombie', 'partial']) },
      'IN_PROGRESS',
    ],
    ['contradicting bytes beat mixed saves', { ...clean, effects: new Set<Effect>(['corrupt', 'zombie', 'partial']) }, 'CORRUPT'],
    ['a checksum that differs is corruption', { ...clean, integrity: 'bad' as const }, 'CORRUPT'],
    ['mixed saves beat missing pieces', { ...clean, effects: new Set<Effect>(['zombie', 'partial']) }, 'ZOMBIE'],
    ['a missing piece beats missing optimizer state', { ...clean, effects: new Set<Effect>(['partial']), hasOptimizer: false }, 'PARTIAL'],
    ['what cannot be read cannot be judged', { ...clean, effects: new Set<Effect>(['unreadable']) }, 'UNKNOWN'],
    ['weights without optimizer state', { ...clean, hasOptimizer: false }, 'WEIGHTS_ONLY'],
    ['whole, but its checksums were not compared at this level', { ...clean, integrity: 'not-checked' as const }, 'UNCHECKED'],
    ['whole, but nothing to check against', { ...clean, integrity: 'none' as const }, 'UNCHECKED'],
    ['whole, but only partly covered by checksums', { ...clean, integrity: 'incomplete' as const }, 'UNCHECKED'],
    ['whole and every checksum compared', clean, 'RESUMABLE'],
    [
      'warnings, notes and security findings stand beside it',
      { ...clean, effects: new Set<Effect>(['warning', 'note', 'security']) },
      'RESUMABLE',
    ],
  ] as const)('%s', (_, judged, verdict) => {
    expect(decideVerdict(judged)).toBe(verdict);
  });

  it('never improves when evidence is added', () => {
    const rank = { RESUMABLE: 0, UNCHECKED: 1, WEIGHTS_ONLY: 2, UNKNOWN: 3, PARTIAL: 4, ZOMBIE: 5, CORRUPT: 6, IN_PROGRESS: 7 };
    const effect = fc.constantFrom<Effect>('in-progress', 'corrupt', 'zombie', 'partial', 'unreadable', 'warning', 'note', 'security');
    const integrity = fc.constantFrom<IntegrityStatus>('checked', 'bad', 'not-checked', 'incomplete', 'none');
    fc.assert(
      fc.property(fc.array(effect), effect, integrity, fc.boolean(), (effects, more, status, hasOptimizer) => {
        const judged = { integrity: status, hasOptimizer };
        const before = decideVerdict({ ...judged, effects: new Set(effects) });
        const after = decideVerdict({ ...judged, effects: new Set([...effects, more]) });
        expect(rank[after]).toBeGreaterThanOrEqual(rank[before]);
      }),
    );
  });

  it('lets a run resume from UNCHECKED unless checksums are required', () => {
    expect(canResume('UNCHECKED', false)).toBe(true);
    expect(canResume('UNCHECKED', true)).toBe(false);
    expect(canResume('RESUMABLE', true)).toBe(true);
    expect(canResume('WEIGHTS_ONLY', false)).toBe(false);
  });
});
