import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../core/clock.ts';
import { USUAL_ATTACH_MS } from '../domain/attachment.ts';
import { watchUnattached } from './unattached.ts';

/** What is told of a life by the time that nobody wonders is over, and long after. */
async function toldOf({ isWatched = false, attachesMs = Infinity, endsMs = Infinity } = {}): Promise<readonly string[]> {
  const [clock, over, told] = [new VirtualClock(), new AbortController(), [] as string[]];
  const life = { worldSize: null as number | null };
  const book = { warn: (text: string): unknown => told.push(text) };
  const watched = watchUnattached({ life, isWatched, clock, book, signal: over.signal });
  for (const atMs of [USUAL_ATTACH_MS / 2, USUAL_ATTACH_MS, 100 * USUAL_ATTACH_MS]) {
    if (attachesMs <= atMs) life.worldSize = 1;
    if (endsMs <= atMs) over.abort(new Error('it has ended'));
    await clock.advance(atMs - clock.monotonic());
  }
  await watched;
  return told;
}

describe('that nobody has attached', () => {
  it('is told once', async () => {
    expect(await toldOf()).toEqual([expect.stringContaining('no rank has attached in 2m: nothing is saved')]);
  });

  it('is not told of a trainer that attaches, ends or is watched before', async () => {
    expect(await toldOf({ attachesMs: USUAL_ATTACH_MS / 2 })).toEqual([]);
    expect(await toldOf({ endsMs: USUAL_ATTACH_MS / 2 })).toEqual([]);
    expect(await toldOf({ isWatched: true })).toEqual([]);
  });
});
