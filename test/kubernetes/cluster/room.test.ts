import { join } from 'node:path';
import { expect, it } from 'vitest';
import { roomAt, whyRoomIsShort } from './room.ts';

it('the room for a folder that is not there yet is that of where it will be', () => {
  const { path, freeMiB } = roomAt(join(import.meta.dirname, 'not', 'yet'));
  expect(path).toBe(join(import.meta.dirname, 'not', 'yet'));
  expect(freeMiB).toBeGreaterThan(0);
});

it('room that suffices is no reason, and more nodes need more', () => {
  expect(whyRoomIsShort({ path: '/cache', freeMiB: 768 }, 2)).toBeNull();
  expect(whyRoomIsShort({ path: '/cache', freeMiB: 768 }, 3)).not.toBeNull();
});

it('every node needs room for the images, twice', () => {
  expect(whyRoomIsShort({ path: '/cache', freeMiB: 1168 }, 2, 100)).toBeNull();
  expect(whyRoomIsShort({ path: '/cache', freeMiB: 1167 }, 2, 100)).toContain(
    'a cluster of 2 nodes needs 1168 MiB at least, and /cache has 1167 MiB free',
  );
});

it('too little is told with the place, the sizes and the way out', () => {
  expect(whyRoomIsShort({ path: '/cache', freeMiB: 3 }, 1)).toBe(
    'a cluster of 1 node needs 640 MiB at least, and /cache has 3 MiB free: make room there, or set HOLDFAST_CACHE to a folder on a larger disk',
  );
});
