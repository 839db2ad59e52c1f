import type { Rng } from '../../../src/core/rng.ts';
import { fastFolder } from '../states/scenario.ts';
import { type Planned, runCampaign } from './campaign.ts';
import { PHASES_OF } from './phases.ts';
import { findStrace } from './strace.ts';
import { type Shape, type Subject, SUBJECTS } from './subjects.ts';
import { addCampaign, emptyTally, type Tally, thinPhases } from './tally.ts';

/** For any seed: a long run with fewer injections in a phase did not test it. */
const LEAST_PER_PHASE = 100;
/** Injections at one drawn subject, before the next draw. */
const PER_DRAWN_SUBJECT = 150;

const SMALL: Shape = { bytes: 20_000, ranks: 1, isFirst: false };

export interface LongInjections {
  readonly count: number;
  readonly rng: Rng;
  readonly subjects?: readonly Subject[];
  /**
   * First every fault at every use of every call of small subjects. Without it only drawn ones,
   * spread evenly over the phases.
   */
  readonly isExhaustive?: boolean;
  /** Ends the run early with the injections made so far. */
  readonly signal: AbortSignal;
  readonly onProgress: (tally: Tally) => void;
}

/**
 * Makes every fault at every use of every call of small subjects, then drawn faults at larger
 * subjects until there are enough.
 */
export async function runInjections({
  count,
  rng,
  subjects = SUBJECTS,
  isExhaustive = true,
  signal,
  onProgress,
}: LongInjections): Promise<Tally> {
  const tracer = findStrace();
  if ('missing' in tracer) throw new Error(tracer.missing);
  const tally = emptyTally();
  const run = async (subject: Subject, shape: Shape, choose?: (possible: readonly Planned[]) => readonly Planned[]): Promise<void> => {
    using folder = fastFolder();
    const options = { strace: tracer.path, subject, shape, folder: folder.path, signal, ...(choose === undefined ? {} : { choose }) };
    addCampaign(tally, subject, await runCampaign(options), choose === undefined);
    onProgress(tally);
  };
  if (isExhaustive) for (const subject of subjects) await run(subject, SMALL);
  while (tally.injections < count && !signal.aborted) {
    const subject = rng.pick(subjects);
    const shape = { bytes: rng.integer(100, 300_000), ranks: rng.integer(1, 4), isFirst: rng.next() < 0.3 };
    await run(subject, shape, (possible) => draw(possible, rng));
  }
  const phases = subjects.flatMap((subject) => PHASES_OF[subject]);
  tally.missing.push(...thinPhases(tally, phases, LEAST_PER_PHASE));
  if (tally.pairsMade < tally.pairs) tally.missing.push(`${tally.pairs - tally.pairsMade} pairs of a use and a fault were never made`);
  return tally;
}

/** Draws each phase equally often, however few calls it has. */
function draw(possible: readonly Planned[], rng: Rng): Planned[] {
  const phases = [...Map.groupBy(possible, ({ phase }) => phase).values()];
  return Array.from({ length: PER_DRAWN_SUBJECT }, () => rng.pick(rng.pick(phases)));
}
