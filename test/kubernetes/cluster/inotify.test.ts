import { watch } from 'node:fs';
import { expect, it } from 'vitest';
import { inotifyNow, whyInotifyIsShort } from './inotify.ts';

it.skipIf(process.platform !== 'linux')('instances of inotify that are in use are counted', () => {
  const watcher = watch(import.meta.dirname);
  try {
    expect(inotifyNow().used).toBeGreaterThan(0);
    expect(inotifyNow().limit).toBeGreaterThan(0);
  } finally {
    watcher.close();
  }
});

it('a limit that is not near is no reason', () => {
  expect(whyInotifyIsShort({ limit: 128, used: 100 })).toBeNull();
});

it('one that is reached is named, with the way out', () => {
  expect(whyInotifyIsShort({ limit: 128, used: 127 })).toMatch(
    /128 instances of inotify, and 127 are in use.*sysctl fs\.inotify\.max_user_instances=512/,
  );
});
