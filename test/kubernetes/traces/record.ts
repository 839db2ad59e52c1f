import { parseArgs } from 'node:util';
import { type Cluster, startCluster } from '../cluster/cluster.ts';
import { buildFacility, whyNoNamespaces } from '../cluster/facility.ts';
import { recordedOn } from '../scenario/notes.ts';
import { TRACE_CLUSTER } from './cluster.ts';
import { inParallel } from '../cluster/in-parallel.ts';
import { play } from './play.ts';
import { type Played, reduce } from './reduce.ts';
import { type Scenario, readScenario, scenarioNames } from './scenario.ts';
import { storeTrace } from './store.ts';

const USAGE = `npm run traces:record                          plays every scenario on a real Kubernetes and stores what they have in common
npm run traces:record -- job-crash job-oom     only these
npm run traces:record -- --times=10            so often each, at least 5; half of the plays have all others beside them
`;
const LEAST_TIMES = 5;
/** Plays at the same moment: quiet first, and then under load. */
const [QUIET, BUSY] = [4, 16];

interface Wish {
  readonly names: readonly string[];
  readonly times: number;
}

async function main(args: readonly string[]): Promise<number> {
  const wish = wishOf(args);
  if (typeof wish === 'string') {
    process.stderr.write(`${wish}${USAGE}`);
    return 64;
  }
  const reason = whyNoNamespaces() ?? buildFacility();
  if (reason !== null) {
    process.stderr.write(`error: ${reason}\n`);
    return 1;
  }
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => stop.abort(new Error(`${signal} came`)));
  try {
    await using cluster = await startCluster({ ...TRACE_CLUSTER, signal: stop.signal });
    return (await record(cluster, wish, stop.signal)) ? 0 : 1;
  } catch (thrown) {
    process.stderr.write(`error: ${thrown instanceof Error ? thrown.message : String(thrown)}\n`);
    return stop.signal.aborted ? 130 : 1;
  }
}

function wishOf(args: readonly string[]): Wish | string {
  try {
    const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options: { times: { type: 'string' } } });
    const [times, known] = [Number(values.times ?? LEAST_TIMES), scenarioNames()];
    const unknown = positionals.filter((name) => !known.includes(name));
    if (unknown.length > 0) return `error: there is no scenario ${unknown.join(', ')}; there are ${known.join(', ')}\n`;
    if (!Number.isInteger(times) || times < LEAST_TIMES)
      return `error: --times=${values.times}: a history races, so play it at least ${LEAST_TIMES} times\n`;
    return { names: positionals.length > 0 ? positionals : known, times };
  } catch (thrown) {
    return `error: ${thrown instanceof Error ? thrown.message : String(thrown)}\n`;
  }
}

/** False when a play failed, or a scenario names an order that did not hold: then its trace stays as it was. */
async function record(cluster: Cluster, { names, times }: Wish, signal: AbortSignal): Promise<boolean> {
  const scenarios = names.map(readScenario);
  const plays = new Map(scenarios.map(({ name }) => [name, [] as Played[]]));
  const failed = new Map<string, unknown>();
  const playOnce = async ([scenario, time]: readonly [Scenario, number]): Promise<void> => {
    try {
      const history = await play(cluster, scenario, { namespace: `${scenario.name}-${time}`, signal });
      plays.get(scenario.name)?.push({ facts: history.facts, roles: history.roles.all });
      process.stderr.write(`${scenario.name}, ${time} of ${times}\n`);
    } catch (thrown) {
      signal.throwIfAborted();
      failed.set(scenario.name, thrown);
    }
  };
  const half = Math.floor(times / 2);
  await inParallel(rounds(scenarios, 1, half), QUIET, playOnce);
  await inParallel(rounds(scenarios, half + 1, times), BUSY, playOnce);
  const on = await recordedOn(cluster);
  for (const scenario of scenarios.filter(({ name }) => !failed.has(name))) {
    try {
      storeTrace(scenario.name, { recordedOn: on, ...reduce(scenario, plays.get(scenario.name) ?? []) });
    } catch (thrown) {
      failed.set(scenario.name, thrown);
    }
  }
  for (const [name, thrown] of failed)
    process.stderr.write(`error: ${name}: ${thrown instanceof Error ? thrown.message : String(thrown)}\n`);
  return failed.size === 0;
}

function rounds(scenarios: readonly Scenario[], from: number, to: number): readonly (readonly [Scenario, number])[] {
  const times = Array.from({ length: to - from + 1 }, (_, index) => from + index);
  return times.flatMap((time) => scenarios.map((scenario) => [scenario, time] as const));
}

process.exitCode = await main(process.argv.slice(2));
