import { parseArgs } from 'node:util';
import { toError } from '../../../src/core/errors.ts';
import { calledOff } from '../cluster/called-off.ts';
import { buildFacility, whyNoNamespaces } from '../cluster/facility.ts';
import { inParallel } from '../cluster/in-parallel.ts';
import { recordedOn } from '../scenario/notes.ts';
import { writeNotes } from './counting.ts';
import { makeLoad } from './load.ts';
import { play } from './play.ts';
import { type Played, contradictions, mustBeSeen, reduce, unheardOf } from './reduce.ts';
import { type Scenario, deedsOf, readScenario, scenarioNames } from './scenario.ts';
import { SPARE_NODES, type Stage, startStage } from './stage.ts';
import { storeTrace, storedTrace } from './store.ts';
import { writePage } from './unplayed.ts';

const USAGE = `npm run traces:record                          plays every scenario on a real Kubernetes and stores what they have in common
npm run traces:record -- job-crash job-oom     only these
npm run traces:record -- --times=10            so often each, at least 5; half of the plays on a machine whose processors are kept busy
npm run traces:record -- --check               stores nothing, and says where plays contradict what is stored; once each, or --times;
                                               what pods and Jobs show for good and no list has is a contradiction here, though it may be a
                                               race that no stored play had: record it anew, with more --times
npm run traces:record -- --list                plays nothing; writes anew, from what is stored, the list of what no test plays (README.md) and the
                                               table of which exits count (docs/kubernetes-notes.md)
`;
const LEAST_TIMES = 5;
/** How many plays run at the same time: first on a quiet machine, then under load. */
const [QUIET, BUSY] = [4, 16];

interface Wish {
  readonly names: readonly string[];
  readonly times: number;
  readonly isCheck: boolean;
  readonly isList: boolean;
  readonly isHelp: boolean;
}

async function main(args: readonly string[]): Promise<number> {
  const wish = wishOf(args);
  if (typeof wish === 'string') {
    process.stderr.write(`${wish}${USAGE}`);
    return 64;
  }
  if (wish.isHelp) {
    process.stdout.write(USAGE);
    return 0;
  }
  if (wish.isList) {
    writePages();
    return 0;
  }
  const signal = calledOff((text) => void process.stderr.write(text));
  try {
    const reason = whyNoNamespaces() ?? (await buildFacility(signal));
    if (reason !== null) throw new Error(reason);
    await using stage = await startStage(signal);
    return (await record(stage, wish, signal)) ? 0 : 1;
  } catch (thrown) {
    process.stderr.write(`error: ${toError(thrown).message}\n`);
    return signal.aborted ? 130 : 1;
  }
}

function wishOf(args: readonly string[]): Wish | string {
  try {
    const options = {
      times: { type: 'string' },
      check: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    } as const;
    const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options });
    const least = values.check ? 1 : LEAST_TIMES;
    const [times, known] = [Number(values.times ?? least), scenarioNames()];
    const unknown = positionals.filter((name) => !known.includes(name));
    if (unknown.length > 0) return `error: there is no scenario ${unknown.join(', ')}; there are ${known.join(', ')}\n`;
    if (!Number.isInteger(times) || times < least)
      return `error: --times=${values.times}: a history races, so play it at least ${least} times\n`;
    const { check: isCheck, list: isList, help: isHelp } = values;
    return { names: positionals.length > 0 ? positionals : known, times, isCheck, isList, isHelp };
  } catch (thrown) {
    return `error: ${toError(thrown).message}\n`;
  }
}

/**
 * Returns false if a play failed, or if an order that the scenario names did not hold. The old
 * trace then stays.
 */
async function record(stage: Stage, wish: Wish, signal: AbortSignal): Promise<boolean> {
  const on = await recordedOn(stage.cluster);
  const finish = (scenario: Scenario, plays: readonly Played[]): void => {
    if (wish.isCheck) compare(scenario.name, plays);
    else storeTrace(scenario.name, { recordedOn: on, recordedAt: today(), deeds: deedsOf(scenario), ...reduce(scenario, plays) });
  };
  const failed = await playAll(stage, wish, { finish, signal });
  if (!wish.isCheck) writePages();
  for (const [name, thrown] of failed) process.stderr.write(`error: ${name}: ${toError(thrown).message}\n`);
  return failed.size === 0;
}

function compare(name: string, plays: readonly Played[]): void {
  const trace = storedTrace(name);
  if (trace === null) throw new Error('it was never recorded');
  const unheard = plays.map((each) => unheardOf(trace, each));
  for (const text of new Set(unheard.flatMap(({ others }) => others))) process.stdout.write(`${name}: in no list, and now: ${text}\n`);
  const unlisted = unheard.flatMap(({ ofPodsAndJobs }) => ofPodsAndJobs.map((text) => `in no list, and now: ${text}`));
  const found = [...plays.flatMap((each) => contradictions(trace, each)), ...unlisted];
  if (found.length > 0) throw new Error(`otherwise than stored:\n  ${[...new Set(found)].join('\n  ')}`);
}

interface PlayAll {
  /**
   * Called with a scenario's plays as soon as all are done, so that a later interruption does not
   * lose them.
   */
  readonly finish: (scenario: Scenario, plays: readonly Played[]) => void;
  readonly signal: AbortSignal;
}

/** Returns the failures by the scenario's name. */
async function playAll(stage: Stage, { names, times, isCheck }: Wish, { finish, signal }: PlayAll): Promise<ReadonlyMap<string, unknown>> {
  const scenarios = names.map(readScenario);
  const plays = new Map(names.map((name) => [name, [] as Played[]]));
  const failed = new Map<string, unknown>();
  const playOnce = async ([scenario, time]: readonly [Scenario, number]): Promise<void> => {
    const { name } = scenario;
    if (failed.has(name)) return;
    try {
      // An early look would see too little.
      const stored = isCheck ? storedTrace(name) : null;
      const alsoUntil = stored === null ? [] : mustBeSeen(stored);
      const played = await play(stage, scenario, { namespace: `${name}-${time}`, alsoUntil, signal });
      const own = [...(plays.get(name) ?? []), played];
      plays.set(name, own);
      process.stderr.write(`${name}, ${time} of ${times}\n`);
      if (own.length === times) finish(scenario, own);
    } catch (thrown) {
      signal.throwIfAborted();
      failed.set(name, thrown);
      process.stderr.write(`${name}, ${time} of ${times}: failed\n`);
    }
  };
  const playTimes = async (from: number, to: number, most: number): Promise<void> => {
    const rounds = Array.from({ length: to - from + 1 }, (_, index) => from + index);
    const all = rounds.flatMap((time) => scenarios.map((scenario) => [scenario, time] as const));
    // Scenarios with their own node wait for a free one, and must not hold up the others.
    const [own, shared] = [all.filter(([{ ownNode }]) => ownNode), all.filter(([{ ownNode }]) => !ownNode)];
    await Promise.all([inParallel(own, SPARE_NODES, playOnce), inParallel(shared, most, playOnce)]);
  };
  const half = Math.floor(times / 2);
  await playTimes(1, half, QUIET);
  await using _load = isCheck ? null : makeLoad();
  await playTimes(half + 1, times, BUSY);
  return failed;
}

/** Writes the pages that are made from the stored traces. */
function writePages(): void {
  writePage();
  writeNotes();
}

function today(): string {
  return new Date().toISOString().slice(0, 10);
}

process.exitCode = await main(process.argv.slice(2));
