import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { whyNoCluster } from './cluster/facility.ts';
import { inParallel } from './cluster/in-parallel.ts';
import { play } from './traces/play.ts';
import { contradictions, mustBeSeen } from './traces/reduce.ts';
import { deedsOf, isReplayed, parseScenario, readScenario, scenarioNames } from './traces/scenario.ts';
import { commitHash, sliceBy } from './traces/slice.ts';
import { SPARE_NODES, type Stage, startStage } from './traces/stage.ts';
import { type StoredTrace, recordedNames, storedTrace } from './traces/store.ts';
import { pageWithUnplayed, readPage } from './traces/unplayed.ts';

const reason = whyNoCluster();
/** So many are played, others for every commit; of those with a node of their own so many as there are nodes for. */
const [PLAYED, PLAYED_ON_OWN_NODES] = [6, SPARE_NODES];

describe('every scenario can be read, and was recorded', () => {
  const scenarios = scenarioNames().map(readScenario);
  const traceOf = (name: string): StoredTrace => {
    const trace = storedTrace(name);
    if (trace === null) throw new Error(`${name} was never recorded`);
    return trace;
  };

  it('and nothing else was', () => {
    expect(scenarios.length).toBeGreaterThan(0);
    expect(recordedNames()).toEqual(scenarioNames());
  });

  it.each(scenarios)('as it is now, five times or more, on the same Kubernetes as all others: $name', (scenario) => {
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

  it.each(scenarios)('with all that it waits for and names in every play: $name', ({ name, steps, until, order, seconds }) => {
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

it('the list of what no test plays names all of them, and why, and when they were recorded; `npm run traces:record -- --list` writes it', () => {
  expect(readPage()).toBe(pageWithUnplayed(readPage()));
});

it('a scenario with a word that is not known is refused', () => {
  expect(() => parseScenario('one', 'title: one\nuntill: []')).toThrow('one: not known: untill');
  expect(() => parseScenario('one', 'title: one\nsteps: [{ wen: x }]')).toThrow('one: not known: wen');
  expect(() => parseScenario('one', 'title: one\nsteps: [{ node: sing }]')).toThrow(
    'one: sing: what is done to a node is one of fill disk',
  );
  expect(() => parseScenario('one', 'title: one')).toThrow('one: a scenario needs title, objects or steps, and until or kubectl');
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
    return sliceBy(commitHash(), names, count);
  };
  const names = [...chosen(true, PLAYED_ON_OWN_NODES), ...chosen(false, PLAYED)];

  it(`are what a real Kubernetes still does: ${names.join(', ')}`, async () => {
    expect(names).toHaveLength(PLAYED + PLAYED_ON_OWN_NODES);
    await inParallel(names, names.length, async (name) => {
      const trace = storedTrace(name);
      if (trace === null) throw new Error(`${name} was never recorded`);
      // Whoever looks too early sees too little: all that always happens for good is waited for.
      const played = await play(stage, readScenario(name), { namespace: name, alsoUntil: mustBeSeen(trace) });
      // What no list has is not asked for here: it may be a race that no stored play had. `traces:record -- --check` tells it.
      expect(contradictions(trace, played), name).toEqual([]);
    });
  });
});
