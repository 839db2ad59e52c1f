import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../core/clock.ts';
import { USUAL_ATTACH_MS } from '../../domain/restart/attachment.ts';
import { watchUnattached } from './unattached.ts';

/** Returns the warnings up to the usual attach time, and long after. */
async function toldOf({ isWatched = false, attachesMs = Infinity, endsMs = Infinity } = {}): Promise<readonly string[]> {
  const [clock, over, told] = [new VirtualClock(), new AbortController(), [] as string[]];
  const session = { worldSize: null as number | null };
  const log = { warn: (text: string): unknown => told.push(text) };
  const watched = watchUnattached({ session, isWatched, clock, log, signal: over.signal });
  for (const atMs of [USUAL_ATTACH_MS / 2, USUAL_ATTACH_MS, 100 * USUAL_ATTACH_MS]) {
    if (attachesMs <= atMs) session.worldSize = 1;
    if (endsMs <= atMs) over.abort(new Error('it has ended'));
    await clock.advance(atMs - clock.monotonic());
  }
  await watched;
  return told;
}

describe('the warning that no rank has attached', () => {
  it('is logged once', async () => {
    expect(await toldOf()).toEqual([expect.stringContaining('no rank has attached in 2m: nothing is saved')]);
  });

  it('is not logged if the trainer attaches or ends before, or if its saves are watched', async () => {
    expect(await toldOf({ attachesMs: USUAL_ATTACH_MS / 2 })).toEqual([]);
    expect(await toldOf({ endsMs: USUAL_ATTACH_MS / 2 })).toEqual([]);
    expect(await toldOf({ isWatched: true })).toEqual([]);
  });
});
