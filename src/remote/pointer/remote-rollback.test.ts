import { mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { seal, stagedSave } from '../../../test/support/sealed-run.ts';
import { MEMORY, tempFolder } from '../../../test/support/temp-folder.ts';
import { realClock } from '../../core/clock.ts';
import { isFenced, newestNumber, publishDeadline, startAttempt } from '../../store/attempt/attempt.ts';
import { commitSave } from '../../store/commit/commit.ts';
import { rollBack, undoRollback } from '../../store/attempt/roll-back.ts';
import { readRollback, type Rollback } from '../../store/folder/rollback.ts';
import { type OpenStore, openRun } from '../../store/folder/store.ts';
import { DirectoryStore } from '../backends/directory/directory-store.ts';
import { isLeftOut } from './pointer.ts';
import { exchangeRollback, formatShared, parseShared, settle, type SharedRollback, shareRollback } from './remote-rollback.ts';

const to = (step: number, throughAttempt: number): Rollback => ({ to: { name: `step-${step}`, attempt: 1, step }, throughAttempt });
const shared = (rollback: Rollback, isUndone = false): SharedRollback => ({ rollback, isUndone });

describe('a rollback in the folder and one at the copies', () => {
  it.each<[string, Rollback | null, SharedRollback | null, number | null, string, Rollback | null]>([
    ['no rollback anywhere', null, null, null, 'none', null],
    ['only here', to(100, 3), null, null, 'publish', to(100, 3)],
    ['only there', null, shared(to(100, 3)), null, 'adopt', to(100, 3)],
    ['the same', to(100, 3), shared(to(100, 3)), 3, 'none', to(100, 3)],
    ['newer here', to(50, 5), shared(to(100, 3)), 3, 'publish', to(50, 5)],
    ['newer there', to(100, 3), shared(to(50, 5)), 3, 'adopt', to(50, 5)],
    ['two at the same time', to(100, 3), shared(to(50, 3)), null, 'adopt', to(50, 3)],
    ['undone here', null, shared(to(100, 3)), 3, 'publish-undone', null],
    ['undone here, and a newer one there', null, shared(to(50, 5)), 3, 'adopt', to(50, 5)],
    ['undone there', to(100, 3), shared(to(100, 3), true), 3, 'forget', null],
    ['undone there, and a newer one here', to(50, 5), shared(to(100, 3), true), 3, 'publish', to(50, 5)],
    ['undone everywhere', null, shared(to(100, 3), true), 3, 'none', null],
    ['to nothing, there', null, shared({ to: null, throughAttempt: 3 }), null, 'adopt', { to: null, throughAttempt: 3 }],
  ])('%s', (_, here, there, known, difference, holds) => {
    expect(settle(here, there, known)).toEqual({ difference, there, holds });
  });
});

describe('the rollback document at the remote place', () => {
  it('is read back as it was written', () => {
    for (const one of [shared(to(100, 3)), shared(to(100, 3), true), shared({ to: null, throughAttempt: 0 })])
      expect(parseShared(formatShared(one))).toEqual(one);
  });

  it('excludes nothing once it is undone, even for a reader that does not know about undoing', () => {
    const undone: Rollback = { to: { name: '', attempt: 7, step: Number.MAX_SAFE_INTEGER }, throughAttempt: 7 };
    fc.assert(fc.property(fc.nat(), fc.maxSafeNat(), (attempt, step) => !isLeftOut({ attempt, step }, undone)));
  });

  it.each([
    '',
    '[]',
    '{}',
    '{"schema":"holdfast.rollback/2","to":null,"throughAttempt":1}',
    '{"schema":"holdfast.rollback/1","to":3,"throughAttempt":1}',
  ])('is not trusted when it is %j', (text) => {
    expect(parseShared(text)).toBeNull();
  });

  it('leaves numbers for the attempts after it, whatever the store returns', () => {
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

describe('two folders of a run and their copies', () => {
  function twoFolders(folder: string): { readonly one: OpenStore; readonly other: OpenStore; readonly remote: DirectoryStore } {
    const [one, other] = ['one', 'other'].map((name) => {
      mkdirSync(join(folder, name));
      return openRun(join(folder, name), { run: 'the run' });
    }) as [OpenStore, OpenStore];
    const path = join(folder, 'copies');
    const remote = new DirectoryStore({ url: `file://${path}`, path, clock: realClock, signal: new AbortController().signal });
    return { one, other, remote };
  }

  it('share one rollback, and undoing it in one folder undoes it for both', async () => {
    using folder = tempFolder(MEMORY);
    const { one, other, remote } = twoFolders(folder.path);
    for (const gang of ['a', 'b', 'c']) await startAttempt(one, { gang });
    await rollBack(one, null);
    await shareRollback(remote, one);
    expect(await exchangeRollback(remote, other)).toMatch(
      /^the run was rolled back at file:.* to nothing; from now on this holds here too/,
    );
    expect(readRollback(other)).toEqual({ to: null, throughAttempt: 3 });
    // The rollback does not exclude the next save there.
    expect(newestNumber(other)).toBe(4);
    expect(await exchangeRollback(remote, other)).toBeNull();
    undoRollback(other);
    expect(await exchangeRollback(remote, other)).toBeNull();
    expect(await exchangeRollback(remote, one)).toContain('was undone');
    expect([readRollback(one), readRollback(other)]).toEqual([null, null]);
    // A folder that joins later gets no rollback.
    mkdirSync(join(folder.path, 'third'));
    const third = openRun(join(folder.path, 'third'), { run: 'the run' });
    expect([await exchangeRollback(remote, third), readRollback(third)]).toEqual([null, null]);
  });

  it('share a rollback that fences an excluded attempt, while a newer attempt keeps training', async () => {
    using folder = tempFolder(MEMORY);
    const { one, other, remote } = twoFolders(folder.path);
    for (const gang of ['a', 'b', 'c']) await startAttempt(one, { gang });
    await rollBack(one, null);
    await shareRollback(remote, one);
    const older = await startAttempt(other, { gang: 'a' });
    const save = await stagedSave(other, older, { step: 1 });
    publishDeadline(other, older, realClock.now() + 3_600_000);
    // A copied checkpoint in the folder may still have an attempt above the rollback.
    await seal(one, await startAttempt(one, { gang: 'd' }), { step: 7 });
    renameSync(join(one.path, 'step-7'), join(other.path, 'step-7'));
    await exchangeRollback(remote, other);
    expect(() => commitSave(other, save)).toThrow(expect.objectContaining({ code: 'ATTEMPT_FENCED' }));
    const newer = await startAttempt(other, { gang: 'b' });
    expect(newer.attempt).toBeGreaterThan(5);
    mkdirSync(join(folder.path, 'third'));
    const third = openRun(join(folder.path, 'third'), { run: 'the run' });
    const above = await startAttempt(third, { gang: 'a', attempt: 4 });
    await exchangeRollback(remote, third);
    expect([isFenced(third, above.attempt), readRollback(third)]).toEqual([false, { to: null, throughAttempt: 3 }]);
  });

  it('apply a rollback that both receive at the same time', async () => {
    using folder = tempFolder(MEMORY);
    const { one, other, remote } = twoFolders(folder.path);
    for (const gang of ['a', 'b', 'c']) await startAttempt(one, { gang });
    await rollBack(one, null);
    await shareRollback(remote, one);
    await startAttempt(other, { gang: 'a' });
    await Promise.all(Array.from({ length: 4 }, () => exchangeRollback(remote, other)));
    expect([isFenced(other, 1), readRollback(other)]).toEqual([true, { to: null, throughAttempt: 3 }]);
  });

  it('note the shared rollback even when the answer to its publishing is lost, so that it can be undone', async () => {
    using folder = tempFolder(MEMORY);
    const { one, remote } = twoFolders(folder.path);
    await startAttempt(one, { gang: 'a' });
    await rollBack(one, null);
    // As after a kill before the answer: the copies have the rollback, and this folder has no note.
    await remote.create('.holdfast/rollback.json', Buffer.from(formatShared(shared({ to: null, throughAttempt: 1 }))));
    expect(await shareRollback(remote, one)).toMatchObject({ difference: 'none' });
    undoRollback(one);
    expect(await shareRollback(remote, one)).toMatchObject({ difference: 'publish-undone', holds: null });
  });

  it('end with the same rollback when both roll back at the same time', async () => {
    using folder = tempFolder(MEMORY);
    const { one, other, remote } = twoFolders(folder.path);
    for (const store of [one, other]) await startAttempt(store, { gang: 'a' });
    await rollBack(one, null);
    await startAttempt(other, { gang: 'b' });
    await rollBack(other, null);
    await Promise.all([exchangeRollback(remote, one), exchangeRollback(remote, other)]);
    await exchangeRollback(remote, one);
    expect([readRollback(one), readRollback(other)]).toEqual(Array.from({ length: 2 }, () => ({ to: null, throughAttempt: 2 })));
  });
});
