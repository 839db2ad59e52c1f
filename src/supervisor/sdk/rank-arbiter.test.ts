import { describe, expect, it } from 'vitest';
import { RankArbiter, type ArbiterListener } from './rank-arbiter.ts';
import type { ToRank } from './protocol.ts';
import type { Rank } from './sdk-server.ts';

const STEP = { type: 'step', step: 7, metrics: {} } as const;
const BEGIN = { type: 'begin', step: 7, linked: false } as const;
const FINISH = { type: 'finish' } as const;

/** Ranks that come and speak, and the events behind the arbiter as "what pid". */
function makeSeats() {
  const heard: string[] = [];
  const inner: ArbiterListener = {
    onRank: ({ pid }) => heard.push(`seated ${pid}`),
    greetDouble: ({ pid }) => heard.push(`double ${pid}`),
    onMessage: ({ pid }, { type }) => heard.push(`${type} ${pid}`),
    onGone: ({ pid }) => heard.push(`gone ${pid}`),
    onComplaint: (text) => heard.push(text),
    onDefect: (thrown) => heard.push(String(thrown)),
  };
  const seats = new RankArbiter(inner);
  const come = (rank: number, pid: number): Rank & { readonly told: readonly ToRank[] } => {
    const told: ToRank[] = [];
    const one = { rank, world: 2, pid, dumpSignal: null, send: (message: ToRank) => void told.push(message), told };
    seats.onRank(one);
    return one;
  };
  return { heard, seats, come };
}

const BOTH = expect.stringMatching(/^processes 10 and 11 have both attached as rank 0 of 2: only one of them takes part/) as string;

describe('a second process that attaches as the same rank', () => {
  it('is welcomed, reported once and ignored, but gets an answer to every request', () => {
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
    for (const message of [FINISH, BEGIN, { type: 'reserve', bytes: 1 }, { type: 'take', step: 7, agreed: true }] as const)
      seats.onMessage(double, message);
    seats.onMessage(other, STEP);
    const once = 'process 11 did not save step 7: process 10 has also attached as rank 0 and takes part instead';
    expect(heard).toEqual(['seated 10', 'double 11', BOTH, 'seated 12', 'double 13', 'step 10', once, 'step 12']);
    expect(double.told).toMatchObject([
      { type: 'refused', step: 7, code: 'SAVE_MIXED', reason: 'process 10 has also attached as rank 0 and takes part instead' },
      { type: 'bye' },
      { type: 'refused', step: 7 },
      { type: 'reserved', path: null },
      { type: 'taken', step: 7, resume: null },
    ]);
    expect(first.told).toEqual([]);
  });

  it('leaves silently; if the first has left, the seat is free until another process trains or arrives', () => {
    const { heard, seats, come } = makeSeats();
    const [first, double, third] = [come(0, 10), come(0, 11), come(0, 12)];
    seats.onMessage(first, STEP);
    seats.onGone(double);
    seats.onGone(first);
    seats.onMessage(third, { type: 'busy', what: 'waiting' });
    seats.onMessage(third, BEGIN);
    seats.onGone(third);
    const fourth = come(0, 13);
    expect(heard.slice(3)).toEqual(['double 12', 'step 10', 'gone 10', 'seated 12', 'busy 12', 'begin 12', 'gone 12', 'seated 13']);
    expect(fourth.told).toEqual([]);
  });

  it('does not undo the finish of the first, neither when that leaves nor with its own last message', () => {
    const { heard, seats, come } = makeSeats();
    const [trainer, helper] = [come(0, 10), come(0, 11)];
    seats.onMessage(trainer, STEP);
    seats.onMessage(trainer, FINISH);
    seats.onGone(trainer);
    seats.onMessage(helper, FINISH);
    expect(heard.slice(3)).toEqual(['step 10', 'finish 10', 'gone 10', 'finish 11']);
    expect(helper.told).toEqual([]);
  });

  it('takes the seat of a first process that has not trained as soon as it makes a step, and keeps it', () => {
    const { heard, seats, come } = makeSeats();
    const [helper, trainer] = [come(0, 10), come(0, 11)];
    for (const message of [
      { type: 'busy', what: 'preparing' },
      { type: 'busy', what: null },
    ] as const)
      seats.onMessage(helper, message);
    seats.onMessage(trainer, STEP);
    seats.onMessage(helper, STEP);
    seats.onGone(helper);
    seats.onMessage(trainer, FINISH);
    expect(heard.slice(3)).toEqual(['busy 10', 'busy 10', 'gone 10', 'seated 11', 'step 11', 'finish 11']);
  });

  it.each([BEGIN, { type: 'busy', what: 'compiling' }, { type: 'reserve', bytes: 1 }, FINISH] as const)(
    'takes the seat of a first process that has not trained when it sends $type',
    (message) => {
      const { heard, seats, come } = makeSeats();
      const [, trainer] = [come(0, 10), come(0, 11)];
      seats.onMessage(trainer, message);
      expect(heard.slice(3, 5)).toEqual(['gone 10', 'seated 11']);
      expect(heard.at(-1)).toBe(`${message.type} 11`);
      expect(trainer.told).toEqual([]);
    },
  );

  it('gets an answer about the step to resume from while no process trains, with or without the seat', () => {
    const { heard, seats, come } = makeSeats();
    const [, trainer] = [come(0, 10), come(0, 11)];
    seats.onMessage(trainer, { type: 'take', step: 7, agreed: false });
    expect(heard.slice(3)).toEqual(['take 11']);
  });

  it('has its earlier messages replayed when it takes the seat, also when it had the seat before', () => {
    const { heard, seats, come } = makeSeats();
    const [helper, trainer] = [come(0, 10), come(0, 11)];
    seats.onMessage(trainer, { type: 'agrees', withinMs: 5 });
    seats.onMessage(trainer, { type: 'busy', what: 'compiling' });
    seats.onMessage(helper, { type: 'busy', what: 'preparing' });
    seats.onMessage(trainer, STEP);
    expect(heard.slice(3)).toEqual([
      ...['gone 10', 'seated 11', 'agrees 11', 'busy 11'],
      ...['gone 11', 'seated 10', 'busy 10'],
      ...['gone 10', 'seated 11', 'agrees 11', 'busy 11', 'step 11'],
    ]);
  });

  it('keeps the seat as soon as memory is reserved for it', () => {
    const { heard, seats, come } = makeSeats();
    const [trainer, helper] = [come(0, 10), come(0, 11)];
    seats.onMessage(trainer, { type: 'reserve', bytes: 1 });
    seats.onMessage(helper, { type: 'busy', what: 'evaluating' });
    expect(heard.slice(3)).toEqual(['reserve 10']);
  });
});
