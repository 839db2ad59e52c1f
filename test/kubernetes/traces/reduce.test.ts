import { expect, it } from 'vitest';
import { type Played, contradictions, mustBeSeen, reduce, unheardOf } from './reduce.ts';

const fact = (text: string, revision: number): Played['facts'][number] => ({ text, revision, seconds: revision / 2 });
const played = (...texts: readonly string[]): Played => {
  const facts = texts.map((text, index) => fact(text, index + 1));
  return { facts, roles: ['pod 1'], over: texts.length };
};
const NOTHING_NAMED = { title: 'one', order: [], seconds: [] };

it('a trace says what plays have in common, what some had, and what none had', () => {
  const trace = reduce(NOTHING_NAMED, [
    played('pod 1: phase Running', 'pod 1: phase Failed'),
    played('pod 1: phase Running', 'pod 1: terminating', 'pod 1: phase Failed'),
  ]);
  expect(trace.always).toEqual(['pod 1: phase Failed', 'pod 1: phase Running']);
  expect(trace.sometimes).toEqual(['pod 1: terminating']);
  expect(trace.never).toEqual([
    ...['pod 1: condition DisruptionTarget', 'pod 1: phase Succeeded'],
    ...['pod 1: reason Evicted', 'pod 1: reason Preempting', 'pod 1: reason Terminated'],
  ]);
});

it('of an object that only some plays have it is not said what never happened to it', () => {
  const more = { ...played('pod 2: phase Running'), roles: ['pod 1', 'pod 2'] };
  expect(reduce(NOTHING_NAMED, [more, played()]).never.filter((text) => text.startsWith('pod 2'))).toEqual([]);
  expect(reduce(NOTHING_NAMED, [more, more]).never).toContain('pod 2: phase Failed');
});

it('only pairs that were named have an order, and one that does not hold is refused', () => {
  const plays = [played('a', 'b'), played('b', 'a')];
  expect(reduce(NOTHING_NAMED, plays).order).toEqual([]);
  expect(() => reduce({ ...NOTHING_NAMED, order: [['a', 'b']] }, plays)).toThrow('a did not come before b');
});

it('times are bounds', () => {
  const plays = [played('a', 'b'), played('a', 'x', 'x', 'b')];
  expect(reduce({ ...NOTHING_NAMED, seconds: [['a', 'b']] }, plays).seconds).toEqual([{ from: 'a', to: 'b', least: 0.5, most: 1.5 }]);
});

it('a play contradicts a trace by what it lacks of always, unless that passes, by what it has of never, and by its order', () => {
  const trace = reduce({ ...NOTHING_NAMED, order: [['a', 'b']] }, [played('a', 'b', 'pod 1: phase Running', 'pod 1: exit 0 Completed')]);
  expect(contradictions(trace, played('a', 'b', 'pod 1: exit 0 Completed', 'event Pod Killing'))).toEqual([]);
  expect(contradictions(trace, played('b', 'a', 'pod 1: phase Failed'))).toEqual([
    'always, and not now: pod 1: exit 0 Completed',
    'never, and now: pod 1: phase Failed',
    'not in order: a; b',
  ]);
});

it('what a timer promises is held to what the objects say, with a second to spare, and not to when it was heard of', () => {
  const told = (begin: number | undefined, end: number | undefined): Played => {
    const [from, to] = [fact('a', 1), fact('b', 2)];
    return {
      ...played(),
      facts: [
        { ...from, told: begin },
        { ...to, told: end },
      ],
    };
  };
  const named = { ...NOTHING_NAMED, seconds: [['a', 'b', 10]] as const };
  const trace = reduce(named, [told(100, 110)]);
  expect(trace.seconds).toEqual([{ from: 'a', to: 'b', least: 0.5, most: 0.5, promised: 10 }]);
  expect(contradictions(trace, told(200, 210))).toEqual([]);
  expect(contradictions(trace, told(200, 209))).toEqual([]);
  expect(contradictions(trace, told(200, 208))).toEqual(['8 s, and not 10: a; b']);
  expect(contradictions(trace, told(200, undefined))).toEqual([]);
  expect(() => reduce(named, [told(200, 208)])).toThrow('8 s, and not 10: a; b');
  expect(() => reduce(named, [told(undefined, 210)])).toThrow('no object says when it was: a');
});

it('what a play shows for good and no list has is unheard of; what passes, or stands in a list, is not', () => {
  const trace = reduce(NOTHING_NAMED, [played('pod 1: exit 0 Completed'), played('pod 1: exit 0 Completed', 'pod 1: gone')]);
  const now = played(
    'pod 1: exit 0 Completed',
    'pod 1: gone',
    'pod 1: phase Failed',
    'pod 1: exit 137 Error',
    'event Pod Killing',
    'kubectl 01 says: done',
    'pod 2: gone',
  );
  expect(unheardOf(trace, now)).toEqual({ ofPodsAndJobs: ['pod 1: exit 137 Error', 'pod 2: gone'], others: ['kubectl 01 says: done'] });
  // The last was heard of after 3.5 s.
  expect(unheardOf(trace, { ...now, over: 3 })).toEqual({
    ofPodsAndJobs: ['pod 1: exit 137 Error'],
    others: ['kubectl 01 says: done', 'pod 2: gone'],
  });
});

it('how far a Job has counted belongs to its trace: less, more, and what an ended one never reached contradict', () => {
  const ended = ['job 1: failed 1', 'job 1: failed 2', 'job 1: succeeded 1', 'job 1: condition Complete'];
  const trace = reduce(NOTHING_NAMED, [played(...ended), played(...ended)]);
  expect(mustBeSeen(trace)).toEqual(['job 1: condition Complete', 'job 1: failed 2', 'job 1: succeeded 1']);
  expect(trace.never).toEqual(expect.arrayContaining(['job 1: failed 3', 'job 1: succeeded 2']));
  // Two at once: nobody saw the first alone.
  expect(contradictions(trace, played('job 1: failed 2', 'job 1: succeeded 1', 'job 1: condition Complete'))).toEqual([]);
  expect(contradictions(trace, played('job 1: failed 1', 'job 1: succeeded 1', 'job 1: condition Complete'))).toEqual([
    'always, and not now: job 1: failed 2',
  ]);
  expect(contradictions(trace, played(...ended, 'job 1: failed 3'))).toEqual(['never, and now: job 1: failed 3']);
});

it('of a Job that goes on, more failures than were seen are unheard of, and no contradiction; where they differed between plays, none is waited for', () => {
  const trace = reduce(NOTHING_NAMED, [played('job 1: failed 1'), played('job 1: failed 1', 'job 1: failed 2')]);
  expect(mustBeSeen(trace)).toEqual([]);
  expect(contradictions(trace, played('job 1: failed 3'))).toEqual([]);
  expect(unheardOf(trace, played('job 1: failed 2', 'job 1: failed 3'))).toEqual({ ofPodsAndJobs: ['job 1: failed 3'], others: [] });
});
