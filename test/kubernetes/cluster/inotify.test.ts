import { watch } from 'node:fs';
import { expect, it } from 'vitest';
import { inotifyNow, makeInotify, whenInotifyIsFree, whyInotifyIsShort } from './inotify.ts';

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

it.skipIf(process.platform !== 'linux')('how many can be had is tried, and no more than asked for are taken', async () => {
  expect(await makeInotify(2)).toBe(2);
  expect(await makeInotify(0)).toBe(0);
});

/** A machine with ten of which so many are used, one look after the other; the last one stays. Gives what was said, and how many were tried to be had. */
async function waited(used: readonly number[], more: { readonly promised?: readonly number[]; readonly hidden?: readonly number[] } = {}) {
  const [said, tried]: [string[], number[]] = [[], []];
  const [uses, promises, hidden] = [[...used], [...(more.promised ?? [0])], [...(more.hidden ?? [0])]];
  const next = (list: number[]): number => (list.length > 1 ? (list.shift() ?? 0) : (list[0] ?? 0));
  // Its own look at the limit comes first.
  const first = uses[0] ?? 0;
  uses.unshift(first);
  await whenInotifyIsFree(1, {
    look: () => ({ limit: 10, used: next(uses) }),
    make: async (most) => {
      tried.push(most);
      return most - next(hidden);
    },
    promised: () => next(promises),
    tell: (text) => said.push(text),
    pauseMs: 1,
    patienceMs: 60_000,
  });
  return { said, tried };
}

const WAITING =
  'waiting for 8 instances of inotify for a cluster of 1 node, of the 10 that this machine grants a user: others have them …\n';

it('a cluster for which there are enough does not wait, and says nothing', async () => {
  expect(await waited([2])).toEqual({ said: [], tried: [8] });
});

it('one for which there are too few says so once, takes none meanwhile, and goes on when others have given theirs back', async () => {
  expect(await waited([3, 7, 2])).toEqual({ said: [WAITING], tried: [8] });
});

it('one leaves those before it what they have not taken yet', async () => {
  expect(await waited([0], { promised: [8, 8, 0] })).toEqual({ said: [WAITING], tried: [8] });
});

it('one waits too when others have them whom it does not see', async () => {
  expect(await waited([0], { hidden: [8, 1, 0] })).toEqual({ said: [WAITING], tried: [8, 8, 8] });
});

const full = { look: () => ({ limit: 20, used: 7 }), promised: () => 0, pauseMs: 1 };

it('one that waits in vain names what it needs, the limit and the way out', async () => {
  await expect(whenInotifyIsFree(2, { ...full, tell: () => {}, patienceMs: 5 })).rejects.toThrow(
    /^14 instances of inotify for a cluster of 2 nodes, of the 20 .* \(end another cluster, or raise .*=512`\), did not come within 0\.005 s$/,
  );
});

it('one that needs more than there can be does not wait', async () => {
  await expect(whenInotifyIsFree(50, full)).rejects.toThrow(
    /^a cluster of 50 nodes needs 302 instances of inotify, and this machine grants a user 20: end another cluster, or raise/,
  );
});

it('one that is called off while it waits does not go on', async () => {
  const stop = new AbortController();
  const tell = (): void => stop.abort(new Error('SIGINT came'));
  await expect(whenInotifyIsFree(2, { ...full, tell, signal: stop.signal })).rejects.toThrow('SIGINT came');
});
