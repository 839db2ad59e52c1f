import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRng, randomSeed } from '../src/core/rng.ts';
import type { RaceAnswer, RaceOrder } from './support/racing-writer.ts';
import { MEMORY, tempFolder } from './support/temp-folder.ts';

const ROUNDS = 500;
/** On a busy machine one side may win far more often: then more are played. */
const MOST_ROUNDS = 8 * ROUNDS;

let writers: ChildProcess[] = [];

beforeAll(() => {
  writers = [0, 1, 2].map(() => fork(join(import.meta.dirname, 'support/racing-writer.ts'), { stdio: 'inherit' }));
});

afterAll(() => {
  for (const writer of writers) writer.kill();
});

async function ask(writer: ChildProcess | undefined, order: RaceOrder): Promise<RaceAnswer> {
  if (writer === undefined) throw new Error('no such process');
  const answer = once(writer, 'message') as Promise<[RaceAnswer]>;
  writer.send(order);
  return (await answer)[0];
}

describe('processes of an old attempt that race with a new one', () => {
  it(`commit before it or never, in ${ROUNDS} rounds or more`, async () => {
    const rng = createRng(randomSeed());
    const outcomes = { committed: 0, refused: 0 };
    // Both must have happened, or there was no race.
    const hadRace = (): boolean => Math.min(outcomes.committed, outcomes.refused) > ROUNDS / 20;
    for (let round = 0; round < ROUNDS || (!hadRace() && round < MOST_ROUNDS); round++) {
      using folder = tempFolder(MEMORY);
      const run = folder.path;
      const [first, second, newcomer] = writers;
      // Two saves of one gang, then both commit while another gang starts.
      for (const [writer, step] of [[first, 1] as const, [second, 2] as const]) {
        expect(await ask(writer, { kind: 'stage', run, gang: 'old', step })).toEqual({ kind: 'staged' });
      }
      const delay = () => rng.integer(0, 2);
      const [commits, started] = await Promise.all([
        Promise.all([first, second].map((writer) => ask(writer, { kind: 'commit', delayMs: delay() }))),
        ask(newcomer, { kind: 'start', run, gang: 'new', delayMs: delay() }),
      ]);
      const committed = commits.flatMap((answer) => (answer.kind === 'committed' ? [answer.name] : []));
      for (const answer of commits) {
        if (answer.kind === 'refused') expect(answer.code, `seed ${rng.seed}, round ${round}`).toBe('ATTEMPT_FENCED');
        outcomes[answer.kind === 'committed' ? 'committed' : 'refused']++;
      }
      const onDisk = readdirSync(run).filter((name) => name !== '.holdfast');
      expect(onDisk, `seed ${rng.seed}, round ${round}`).toEqual(committed.sort());
      // The new attempt has seen, at its start, every final seal of the old one.
      expect(started, `seed ${rng.seed}, round ${round}`).toMatchObject({ kind: 'started', attempt: 2 });
      expect(started.kind === 'started' ? started.seen.toSorted() : null, `seed ${rng.seed}, round ${round}`).toEqual(committed);
    }
    expect(outcomes).toSatisfy(hadRace);
  });
});
