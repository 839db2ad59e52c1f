import { describe, expect, it } from 'vitest';
import type { Entry } from './look.ts';
import { QUIET_MS, Tracker } from './tracker.ts';

const entry = (name: string, files: Readonly<Record<string, string>>, hasSeal = false): Entry => ({
  ...{ name, path: `/out/${name}`, kind: 'directory', manifestFile: `/out/${name}/holdfast.manifest.json`, hasSeal },
  stamps: new Map(Object.entries(files)),
});
const seen = (...entries: readonly Entry[]): ReadonlyMap<string, Entry> => new Map(entries.map((one) => [one.name, one]));
const names = (entries: readonly Entry[]): readonly string[] => entries.map(({ name }) => name);

describe('an entry of a watched folder', () => {
  it('is due after a quiet time, or at once when the trainer has ended', () => {
    const tracker = new Tracker([], []);
    const whole = entry('step-1', { a: '1' });
    expect(tracker.observe(seen(whole), 0).due).toEqual([]);
    expect(tracker.observe(seen(entry('step-1', { a: '2' })), QUIET_MS).due).toEqual([]);
    expect(names(tracker.observe(seen(entry('step-1', { a: '2' })), 2 * QUIET_MS).due)).toEqual(['step-1']);
    expect(names(new Tracker([], []).observe(seen(whole), 0, { isOver: true }).due)).toEqual(['step-1']);
  });

  it('is not due after it was refused, until it changes', () => {
    const tracker = new Tracker([], []);
    const partial = entry('step-1', { a: '1' });
    tracker.observe(seen(partial), 0);
    tracker.refuse(partial);
    expect(tracker.observe(seen(partial), 10_000).due).toEqual([]);
    tracker.observe(seen(entry('step-1', { a: '1', b: '1' })), 20_000);
    expect(names(tracker.observe(seen(entry('step-1', { a: '1', b: '1' })), 30_000).due)).toEqual(['step-1']);
  });

  it('is due again after a disk failure when a growing pause is over, or when the trainer has ended', () => {
    const tracker = new Tracker([], []);
    const whole = seen(entry('step-1', { a: '1' }));
    const isDueAt = (nowMs: number, isOver = false): boolean => tracker.observe(whole, nowMs, { isOver }).due.length > 0;
    isDueAt(0);
    const rests = [10_000, 20_000, 40_000].map((failedMs) => {
      tracker.postpone(entry('step-1', { a: '1' }), failedMs, 1);
      return [1999, 2000, 3999, 4000, 7999, 8000].find((restMs) => isDueAt(failedMs + restMs));
    });
    expect(rests).toEqual([2000, 4000, 8000]);
    tracker.postpone(entry('step-1', { a: '1' }), 100_000, 60_000);
    expect([isDueAt(339_999), isDueAt(100_000, true), isDueAt(340_000)]).toEqual([false, true, true]);
  });

  it('skips the pause after a disk failure if it has changed since then', () => {
    const tracker = new Tracker([], []);
    const [before, after] = [entry('step-1', { a: '1' }), entry('step-1', { a: '2' })];
    tracker.observe(seen(before), 0);
    tracker.postpone(before, 1000, 1_000_000);
    tracker.observe(seen(after), 2000);
    expect(names(tracker.observe(seen(after), 2000 + QUIET_MS).due)).toEqual(['step-1']);
  });

  it('is not due if it is older than this attempt, sealed by another process, or an empty folder', () => {
    const tracker = new Tracker([['old', new Map([['a', '1']])]], []);
    const all = seen(entry('old', { a: '1' }), entry('sdk', { a: '1' }, true), entry('empty', {}));
    expect(tracker.observe(all, 0, { isOver: true }).due).toEqual([]);
  });

  it('that is older than this attempt is due only when every file of it was rewritten', () => {
    const tracker = new Tracker([['step-1', new Map(Object.entries({ a: '1', b: '1' }))]], []);
    expect(tracker.observe(seen(entry('step-1', { a: '2', b: '1' })), 0, { isOver: true }).due).toEqual([]);
    expect(names(tracker.observe(seen(entry('step-1', { a: '2', b: '2' })), 0, { isOver: true }).due)).toEqual(['step-1']);
    expect(names(tracker.observe(seen(entry('step-1', { a: '2' })), 0, { isOver: true }).due)).toEqual(['step-1']);
  });
});

describe('the count of saves that are deleted before they can be sealed', () => {
  it('grows until one save is sealed', () => {
    const tracker = new Tracker([], []);
    for (const step of [1, 2, 3, 4]) tracker.observe(seen(entry(`step-${step}`, { a: '1' })), step);
    expect(tracker.missedCount).toBe(3);
    tracker.seal(entry('step-4', { a: '1' }));
    expect(tracker.missedCount).toBe(0);
  });
});

describe('a seal in a watched folder', () => {
  it('is gone when its checkpoint is deleted, and void as soon as a file of it changes', () => {
    const tracker = new Tracker([], []);
    const [one, two] = [entry('one', { a: '1' }), entry('two', { a: '1' })];
    tracker.seal(one);
    tracker.seal(two);
    expect(tracker.sealedCount).toBe(2);
    const touched = entry('two', { a: '2' }, true);
    const observed = tracker.observe(seen(touched), 0);
    expect([observed.gone, names(observed.replaced), tracker.sealedCount]).toEqual([['one'], ['two'], 0]);
    expect(tracker.observe(seen(touched), 1).replaced).toEqual([]);
    expect(names(tracker.observe(seen(entry('two', { a: '2' })), QUIET_MS).due)).toEqual(['two']);
  });

  it('is left alone while its files are deleted one by one, and this is reported once', () => {
    const tracker = new Tracker([], []);
    tracker.seal(entry('one', { a: '1', b: '1' }));
    const half = seen(entry('one', { b: '1' }, true));
    const observed = tracker.observe(half, 0);
    expect([names(observed.dwindling), observed.replaced, tracker.sealedCount]).toEqual([['one'], [], 0]);
    expect(tracker.observe(half, 2 * QUIET_MS)).toEqual({ due: [], gone: [], dwindling: [], replaced: [], touched: [] });
    expect(tracker.observe(seen(), 3 * QUIET_MS).gone).toEqual([]);
  });

  it('stays when its files were written to and kept their sizes, to tell damage from a new save', () => {
    const tracker = new Tracker([], []);
    tracker.seal(entry('one', { a: '5:100:7' }));
    const touched = entry('one', { a: '5:200:7' }, true);
    expect(names(tracker.observe(seen(touched), 0).touched)).toEqual(['one']);
    // The entry is judged once it is quiet, although its seal is still there.
    expect(names(tracker.observe(seen(touched), QUIET_MS).due)).toEqual(['one']);
    for (const stamp of ['4:200:7', '5:200:8']) {
      tracker.seal(entry('one', { a: '5:100:7' }));
      const { replaced, touched: none } = tracker.observe(seen(entry('one', { a: stamp }, true)), 0);
      expect([names(replaced), none]).toEqual([['one'], []]);
    }
  });

  it('of an earlier attempt is known from the start', () => {
    const tracker = new Tracker([['one', new Map([['a', '1']])]], ['one']);
    expect(tracker.observe(seen(entry('one', { a: '1' }, true)), 0)).toEqual({
      due: [],
      gone: [],
      dwindling: [],
      replaced: [],
      touched: [],
    });
    expect(tracker.observe(seen(), 1).gone).toEqual(['one']);
  });
});
