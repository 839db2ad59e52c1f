import { describe, expect, it } from 'vitest';
import { createRng } from '../../../src/core/rng.ts';
import { type DiskEvent, resolveLog } from './events.ts';
import { mutations } from './mutations.ts';
import type { Operation } from './operation.ts';
import { ORDERS, type Order } from './order.ts';
import { crashStates } from './states.ts';
import type { Tree } from './tree.ts';

const OLD = Buffer.from('the old text');
const NEW = Buffer.from('the new text, longer');
const BEFORE: Tree = new Map([['note', OLD]]);

/**
 * A safe replacement of a file: the smallest protocol in which every step is known to be needed.
 */
const REPLACE: readonly Operation[] = [
  { kind: 'write', path: 'note.tmp', data: NEW },
  { kind: 'sync-file', path: 'note.tmp' },
  { kind: 'rename', from: 'note.tmp', to: 'note' },
  { kind: 'sync-folder', path: '' },
  { kind: 'promise', name: 'new' },
];

function faults(order: Order, events: readonly DiskEvent[]): string[] {
  return crashStates({ ...resolveLog(BEFORE, REPLACE), events }, order, createRng(1)).flatMap(({ tree, promises, after }) => {
    const found = tree.get('note');
    const good = found !== undefined && found !== null && (NEW.equals(found) || (OLD.equals(found) && !promises.has('new')));
    return good ? [] : [`after ${after}: ${found === undefined || found === null ? 'nothing' : Buffer.from(found).toString()}`];
  });
}

describe('the crash model', () => {
  const recording = resolveLog(BEFORE, REPLACE);

  it.each(ORDERS)('finds nothing wrong with a correct replacement of a file under %s order', (order) => {
    expect(faults(order, recording.events)).toEqual([]);
  });

  it('shows every way an unsynced file may look', () => {
    const torn = crashStates(recording, 'weakest', createRng(1)).map(({ tree }) =>
      Buffer.from(tree.get('note.tmp') ?? '(absent)').toString(),
    );
    expect(torn).toEqual(expect.arrayContaining(['(absent)', '', 'the new te', '\0'.repeat(NEW.length), NEW.toString()]));
  });

  it.each(mutations(recording))('finds the fault in: $name', ({ events }) => {
    expect(ORDERS.some((order) => faults(order, events).length > 0)).toBe(true);
  });

  it('keeps changes of one folder in order if the file system does', () => {
    const log: Operation[] = [
      { kind: 'mkdir', path: 'a' },
      { kind: 'mkdir', path: 'b' },
      { kind: 'write', path: 'a/1', data: NEW },
      { kind: 'write', path: 'b/1', data: NEW },
    ];
    const names = (order: Order): Set<string> =>
      new Set(crashStates(resolveLog(new Map(), log), order, createRng(1)).map(({ tree }) => [...tree.keys()].join(' ')));
    expect(names('journal')).toEqual(new Set(['', 'a', 'a b', 'a a/1 b', 'a a/1 b b/1']));
    expect(names('folder')).toEqual(new Set(['', 'a', 'a b', 'a a/1', 'a a/1 b', 'a b b/1', 'a a/1 b b/1']));
    expect(names('weakest')).toContain('b b/1');
  });
});
