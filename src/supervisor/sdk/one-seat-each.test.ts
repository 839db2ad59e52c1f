import { describe, expect, it } from 'vitest';
import { OneSeatEach, type SeatedListener } from './one-seat-each.ts';
import type { ToRank } from './protocol.ts';
import type { Rank } from './server.ts';

const STEP = { type: 'step', step: 7, metrics: {} } as const;
const BEGIN = { type: 'begin', step: 7, linked: false } as const;

/** What is heard behind the seats, as "what pid", and how ranks come and speak. */
function makeSeats() {
  const heard: string[] = [];
  const inner: SeatedListener = {
    onRank: ({ pid }) => heard.push(`seated ${pid}`),
    greetDouble: ({ pid }) => heard.push(`double ${pid}`),
    onMessage: ({ pid }, { type }) => heard.push(`${type} ${pid}`),
    onGone: ({ pid }) => heard.push(`gone ${pid}`),
    onComplaint: (text) => heard.push(text),
    onDefect: (thrown) => heard.push(String(thrown)),
  };
  const seats = new OneSeatEach(inner);
  const come = (rank: number, pid: number): Rank & { readonly told: readonly ToRank[] } => {
    const told: ToRank[] = [];
    const one = { rank, world: 2, pid, dumpSignal: null, send: (message: ToRank) => void told.push(message), told };
    seats.onRank(one);
    return one;
  };
  return { heard, seats, come };
}

const BOTH = expect.stringMatching(/^processes 10 and 11 have both attached as rank 0 of 2: one of them alone takes part/) as string;

describe('a second process that says it is the same rank', () => {
  it('is welcomed and told of once, and what it says does not count: whatever it waits for is answered', () => {
    const { heard, seats, come } = makeSeats();
    const [first, double, other] = [come(0, 10), come(0, 11), come(1, 12)];
    come(0, 13);
    seats.onMessage(first, STEP);
    for (const message of [
      STEP,
      BEGIN,
      { type: 'busy', what: 'x' },
      { type: 'saved', save: 's', stallMs: null, waitedMs: 0, betweenMs: 0 },
    ] as const)
      seats.onMessage(double, message);
    for (const message of [{ type: 'finish' }, { type: 'reserve', bytes: 1 }, { type: 'take', step: 7, agreed: true }] as const)
      seats.onMessage(double, message);
    seats.onMessage(other, STEP);
    expect(heard).toEqual(['seated 10', 'double 11', BOTH, 'seated 12', 'double 13', 'step 10', 'step 12']);
    expect(double.told).toMatchObject([
      { type: 'refused', step: 7, code: 'SAVE_MIXED', reason: 'process 10 is rank 0 too, and takes part in its place' },
      { type: 'bye' },
      { type: 'reserved', path: null },
      { type: 'taken', step: 7, resume: null },
    ]);
    expect(first.told).toEqual([]);
  });

  it('leaves without a word, and takes the place of the first when that leaves', () => {
    const { heard, seats, come } = makeSeats();
    const [first, double, third] = [come(0, 10), come(0, 11), come(0, 12)];
    seats.onMessage(first, STEP);
    seats.onGone(double);
    seats.onGone(first);
    seats.onMessage(third, BEGIN);
    seats.onGone(third);
    const fourth = come(0, 13);
    expect(heard.slice(3)).toEqual(['double 12', 'step 10', 'gone 10', 'seated 12', 'begin 12', 'gone 12', 'seated 13']);
    expect(fourth.told).toEqual([]);
  });

  it('takes the place of a first that has only attached as soon as it makes a step, and keeps it', () => {
    const { heard, seats, come } = makeSeats();
    const [helper, trainer] = [come(0, 10), come(0, 11)];
    seats.onMessage(trainer, { type: 'busy', what: 'loading' });
    seats.onMessage(trainer, STEP);
    seats.onMessage(helper, STEP);
    seats.onGone(helper);
    seats.onMessage(trainer, { type: 'finish' });
    expect(heard.slice(3)).toEqual(['gone 10', 'seated 11', 'step 11', 'finish 11']);
  });
});
