import { expect, it } from 'vitest';
import { type Realm, nearnessOf } from './realm.ts';

const HERE: Realm = { host: 'a', boot: '1', processes: 'pid:[1]' };

it.each([
  ['the same', HERE, 'here'],
  ['none that is known', undefined, 'here'],
  ['another container of the machine', { ...HERE, host: 'b', processes: 'pid:[2]' }, 'elsewhere'],
  ['another process namespace of the machine', { ...HERE, processes: 'pid:[2]' }, 'elsewhere'],
  ['the machine before it was started anew', { ...HERE, boot: '0', processes: 'pid:[2]' }, 'past'],
  ['another machine, on which the namespace has the same number', { ...HERE, host: 'b', boot: '2' }, 'elsewhere'],
] as const)('where a record was made: %s', (_, realm, nearness) => {
  expect(nearnessOf(realm, HERE)).toBe(nearness);
});
