import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COMMIT, sliceBy } from '../support/slice.ts';
import { whyNoCluster } from './cluster/facility.ts';
import { inParallel } from './cluster/in-parallel.ts';
import { play } from './traces/play.ts';
import { contradictions, mustBeSeen } from './traces/reduce.ts';
import { deedsOf, isReplayed, readScenario, scenarioNames } from './traces/scenario.ts';
import { SPARE_NODES, type Stage, startStage } from './traces/stage.ts';
import { type StoredTrace, recordedNames, storedTrace } from './traces/store.ts';
import { pageWithUnplayed, readPage } from './traces/unplayed.ts';

const reason = whyNoCluster();
/**
 * How many scenarios a commit plays; each commit plays others. Scenarios with their own node: as
 * many as there are nodes.
 */
const [PLAYED, PLAYED_ON_OWN_NODES] = [6, SPARE_NODES];

describe('every scenario is readable and recorded', () => {
  const scenarios = scenarioNames().map(readScenario);
  const traceOf = (name: string): StoredTrace => {
    const trace = storedTrace(name);
    if (trace === null) throw new Error(`${name} was never recorded`);
    return trace;
  };

  it('and there is no other record', () => {
    expect(scenarios.length).toBeGreaterThan(0);
    expect(recordedNames()).toEqual(scenarioNames());
  });

  it.each(scenarios)('in its current form, at least five times, on the same Kubernetes as all others: $name', (scenario) => {
    const trace = traceOf(scenario.name);
    expect(trace.plays).toBeGreaterThanOrEqual(5);
    expect(trace.recordedOn).toEqual(traceOf(scenarioNames()[0] ?? '').recordedOn);
    expect(trace.recordedAt).toMatch(/^\d{4}-\d\d-\d\d$/);
    const { title, order, seconds } = scenario;
    expect({
      ...trace,
      seconds: trace.seconds.map(({ from, to, promised }) => [from, to, ...(promised === undefined ? [] : [promised])]),
    }).toMatchObject({
      title,
      deeds: deedsOf(scenario),
      order,
      seconds,
    });
  });

  it.each(scenarios)('with all its expected and named objects in every play: $name', ({ name, steps, until, order, seconds }) => {
    const { always, sometimes } = traceOf(name);
    const whens = steps.flatMap(({ when }) => when ?? []);
    const named = [
      ...whens,
      ...until.filter((fact) => typeof fact === 'string'),
      ...order.flat(),
      ...seconds.flatMap(([from, to]) => [from, to]),
    ];
    expect(named.filter((fact) => !always.includes(fact))).toEqual([]);
    const oneOf = until.filter((fact) => typeof fact !== 'string');
    expect(oneOf.filter((facts) => !facts.some((fact) => always.includes(fact) || sometimes.includes(fact)))).toEqual([]);
  });
});

it('the list of unplayed scenarios has all of them, with the reason and the date; `npm run traces:record -- --list` writes it', () => {
  expect(readPage()).toBe(pageWithUnplayed(readPage()));
});

describe.skipIf(reason !== null)(`the stored traces${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await startStage();
  });
  afterAll(async () => {
    await stage?.[Symbol.asyncDispose]();
  });

  const replayed = scenarioNames().map(readScenario).filter(isReplayed);
  const chosen = (isOwn: boolean, count: number): readonly string[] => {
    const names = replayed.filter(({ ownNode }) => ownNode === isOwn).map(({ name }) => name);
    return sliceBy(COMMIT, names, count);
  };
  const names = [...chosen(true, PLAYED_ON_OWN_NODES), ...chosen(false, PLAYED)];

  it(`match a real Kubernetes: ${names.join(', ')}`, async () => {
    expect(names).toHaveLength(PLAYED + PLAYED_ON_OWN_NODES);
    await inParallel(names, names.length, async (name) => {
      const trace = storedTrace(name);
      if (trace === null) throw new Error(`${name} was never recorded`);
      // An early look would see too little, so the play waits for every lasting fact of the trace.
      const played = await play(stage, readScenario(name), { namespace: name, alsoUntil: mustBeSeen(trace) });
      // Facts that are in no list are not checked here: they may belong to a race that no stored
      // play had. `traces:record -- --check` reports them.
      expect(contradictions(trace, played), name).toEqual([]);
    });
  });
});
