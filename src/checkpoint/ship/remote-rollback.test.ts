import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Rollback } from '../store/rollback.ts';
import { isLeftOut } from './pointer.ts';
import { formatShared, parseShared, settle, type SharedRollback } from './remote-rollback.ts';

const to = (step: number, throughAttempt: number): Rollback => ({ to: { name: `step-${step}`, attempt: 1, step }, throughAttempt });
const shared = (rollback: Rollback, isUndone = false): SharedRollback => ({ rollback, isUndone });

describe('a decision here and one at the copies', () => {
  it.each<[string, Rollback | null, SharedRollback | null, number | null, string, Rollback | null]>([
    ['nothing was decided', null, null, null, 'none', null],
    ['only here', to(100, 3), null, null, 'publish', to(100, 3)],
    ['only there', null, shared(to(100, 3)), null, 'adopt', to(100, 3)],
    ['the same', to(100, 3), shared(to(100, 3)), 3, 'none', to(100, 3)],
    ['newer here', to(50, 5), shared(to(100, 3)), 3, 'publish', to(50, 5)],
    ['newer there', to(100, 3), shared(to(50, 5)), 3, 'adopt', to(50, 5)],
    ['two at the same time', to(100, 3), shared(to(50, 3)), null, 'adopt', to(50, 3)],
    ['taken back here', null, shared(to(100, 3)), 3, 'publish-undone', null],
    ['taken back here, and a newer one there', null, shared(to(50, 5)), 3, 'adopt', to(50, 5)],
    ['taken back there', to(100, 3), shared(to(100, 3), true), 3, 'forget', null],
    ['taken back there, and a newer one here', to(50, 5), shared(to(100, 3), true), 3, 'publish', to(50, 5)],
    ['taken back everywhere', null, shared(to(100, 3), true), 3, 'none', null],
    ['to nothing, there', null, shared({ to: null, throughAttempt: 3 }), null, 'adopt', { to: null, throughAttempt: 3 }],
  ])('%s', (_, here, there, known, difference, holds) => {
    expect(settle(here, there, known)).toEqual({ difference, there, holds });
  });
});

describe('the decision as it lies at the remote place', () => {
  it('comes back as it was written', () => {
    for (const one of [shared(to(100, 3)), shared(to(100, 3), true), shared({ to: null, throughAttempt: 0 })])
      expect(parseShared(formatShared(one))).toEqual(one);
  });

  it('that was taken back leaves nothing out, also for whoever knows nothing of that', () => {
    const undone: Rollback = { to: { name: '', attempt: 7, step: Number.MAX_SAFE_INTEGER }, throughAttempt: 7 };
    fc.assert(fc.property(fc.nat(), fc.maxSafeNat(), (attempt, step) => !isLeftOut({ attempt, step }, undone)));
  });

  it.each([
    '',
    '[]',
    '{}',
    '{"schema":"holdfast.rollback/2","to":null,"throughAttempt":1}',
    '{"schema":"holdfast.rollback/1","to":3,"throughAttempt":1}',
  ])('is not believed when it is %j', (text) => {
    expect(parseShared(text)).toBeNull();
  });

  it('leaves numbers for the attempts after it, whatever lies there', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.json(),
          fc.double().map((n) => `{"schema":"holdfast.rollback/1","to":null,"throughAttempt":${n}}`),
        ),
        (text) => {
          const found = parseShared(text);
          if (found !== null) expect(Number.isSafeInteger(found.rollback.throughAttempt + 1000)).toBe(true);
        },
      ),
    );
  });
});
