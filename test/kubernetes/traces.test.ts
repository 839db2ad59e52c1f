import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, startCluster } from './cluster/cluster.ts';
import { whyNoCluster } from './cluster/facility.ts';
import { TRACE_CLUSTER } from './traces/cluster.ts';
import { isLasting } from './traces/facts.ts';
import { inParallel } from './cluster/in-parallel.ts';
import { play } from './traces/play.ts';
import { contradictions } from './traces/reduce.ts';
import { parseScenario, readScenario, scenarioNames } from './traces/scenario.ts';
import { commitHash, sliceBy } from './traces/slice.ts';
import { storedTrace } from './traces/store.ts';

const reason = whyNoCluster();
/** What is said of these hangs on no race. */
const SURE = [
  'job-crash-no-limit-left',
  'job-created-suspended',
  'job-delete-exit-0-policy',
  'job-evict-exit-0-policy',
  'job-evict-exit-7-policy',
  'job-index-fails',
  'job-policy-fail',
  'job-suspend',
  'job-ttl',
];
/** So many of them are played, others for every commit. */
const PLAYED = 6;

it('every scenario can be read, and was recorded at least five times on the same Kubernetes', () => {
  const stored = scenarioNames().map((name) => [readScenario(name).title, storedTrace(name)] as const);
  for (const [title, trace] of stored) {
    expect(trace?.title).toBe(title);
    expect(trace?.plays).toBeGreaterThanOrEqual(5);
    expect(trace?.recordedOn).toEqual(stored[0]?.[1]?.recordedOn);
  }
});

it('a scenario with a word that is not known is refused', () => {
  expect(() => parseScenario('one', 'title: one\nuntill: []')).toThrow('one: not known: untill');
  expect(() => parseScenario('one', 'title: one')).toThrow('one: a scenario needs title, objects and until');
});

describe.skipIf(reason !== null)(`the stored traces${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster(TRACE_CLUSTER);
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  it('are what a real Kubernetes still does', async () => {
    await inParallel(sliceBy(commitHash(), SURE, PLAYED), PLAYED, async (name) => {
      const trace = storedTrace(name);
      if (trace === null) throw new Error(`${name} was never recorded`);
      // Whoever looks too early sees too little: all that always happens for good is waited for.
      const history = await play(cluster, readScenario(name), { namespace: name, alsoUntil: trace.always.filter(isLasting) });
      expect(contradictions(trace, { facts: history.facts, roles: history.roles.all }), name).toEqual([]);
    });
  });
});
