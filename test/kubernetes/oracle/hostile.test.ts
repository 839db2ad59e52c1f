import { describe, expect, it } from 'vitest';
import { type Rng, createRng } from '../../../src/core/rng.ts';
import { CHECKS } from './checks.ts';
import { garbled, mutated } from './mutations.ts';
import { answersTo, whyNoOracle } from './oracle.ts';

const reason = whyNoOracle();
const LONGEST_LINE = 16 * 2 ** 20;
const pod = { metadata: { name: 'a', uid: 'a' } };
const node = { metadata: { name: 'n' } };
const there = { metadata: { name: 'b', uid: 'b' }, spec: { nodeName: 'n' } };
const step = { do: 'apply', manager: 'm', object: {} };

const schedule = (more: object): string => JSON.stringify({ schedule: { pod, nodes: [node], ...more } });
const evict = (more: object): string => JSON.stringify({ evict: { signal: 'memory.available', pods: [], stats: {}, ...more } });
const merge = (more: object): string => JSON.stringify({ merge: { apiVersion: 'v1', kind: 'ConfigMap', steps: [step], ...more } });
const stepWith = (more: object): string => merge({ steps: [step, { ...step, ...more }] });

const GOOD = '{"id": "good", "evict": {"signal": "memory.available", "pods": [], "stats": {}}}';
const VERDICT = { id: 'good', order: [] };

/** A line, and what is said of it. */
const BAD: readonly (readonly [line: string, error: string])[] = [
  ['', 'the line is empty: it must be one JSON object, and a case: '],
  ['nonsense', 'the line is nonsense: it must be one JSON object'],
  ['[[]]', 'the line is [[]]: '],
  ['{}', 'the line has 0 cases: it must have one of schedule, evict, merge'],
  ['{"evict": {}, "merge": {}}', 'the line has 2 cases: '],
  ['{"smell": 7}', 'unknown field "smell"'],
  ['{"evict": {"signal": "pid.available", "signal": "pid.available"}}', 'duplicate field "evict.signal"'],
  ['{"id": {}, "evict": {}}', 'id is {}: it must be a string or a whole number'],
  ['['.repeat(100_000), 'the line is [[['],
  [`{"evict": ${' '.repeat(100_000)}7}`, 'the line is {"evict": '],
  [schedule({ pod: undefined }), 'schedule.pod is null: it must be a pod'],
  [schedule({ nodes: 7 }), 'schedule.nodes is 7: '],
  [schedule({ nodes: [null] }), 'schedule.nodes[0] is null: it must be an object'],
  [schedule({ nodes: [node, node] }), 'schedule.nodes[1].metadata.name is "n": it must be there, and no other one\'s'],
  [
    schedule({ nodes: [{ ...node, status: { allocatable: { cpu: 'lots' } } }] }),
    'schedule.nodes[0].status.allocatable.cpu is "lots": quantities must match',
  ],
  [
    schedule({ nodes: [{ ...node, status: { allocatable: { cpu: '1e-999999999' } } }] }),
    'schedule.nodes[0].status.allocatable.cpu is "1e-999999999": a number may have 100 digits at most, and its exponent 3',
  ],
  [
    schedule({ nodes: [node, { metadata: { name: 'o' }, status: { capacity: { memory: `${'9'.repeat(200)}Mi` } } }] }),
    `schedule.nodes[1].status.capacity.memory is "${'9'.repeat(99)}…: a number may have 100 digits at most`,
  ],
  [
    schedule({ nodes: [{ ...node, status: { allocatable: { cpu: `0.${'0'.repeat(2 ** 20)}1` } } }] }),
    'a number may have 100 digits at most, and its exponent 3',
  ],
  [
    '{"evict": {"signal": "pid.available", "pods": [{"spec": {"overhead": {"cpu": 1e-999999999, "cpu": 1}}}]}}',
    '; a number may have 100 digits at most, and its exponent 3',
  ],
  [evict({ stats: { x: { memory: { workingSetBytes: '1e9999' } } } }), 'evict.stats.x.memory.workingSetBytes is "1e9999": '],
  [schedule({ pods: [null] }), 'schedule.pods[0] is null: it must be a pod'],
  [schedule({ pods: [pod] }), 'schedule.pods[0].metadata.name is "a": '],
  [schedule({ pods: [{ ...there, metadata: { name: 'b' } }] }), 'schedule.pods[0].metadata.uid is "": '],
  [schedule({ pods: [{ ...there, spec: {} }] }), 'schedule.pods[0].spec.nodeName is "": it must be the name of a node of the case'],
  [schedule({ nominated: [there] }), 'schedule.nominated[0].spec.nodeName is "n": '],
  [schedule({ nominated: [{ ...there, spec: {} }] }), 'schedule.nominated[0].status.nominatedNodeName is "": '],
  [schedule({ budgets: [null] }), 'schedule.budgets[0] is null: '],
  [evict({ signal: 'smell' }), 'evict.signal is "smell": it must be one of allocatableMemory.available, containerfs.available, '],
  [evict({ signal: 'memory' }), 'evict.signal is "memory": '],
  [evict({ imageFs: [] }), 'evict.imageFs is []: '],
  [evict({ pods: [null] }), 'evict.pods[0] is null: '],
  [evict({ pods: [{}] }), 'evict.pods[0].metadata.name is "": '],
  [evict({ stats: { x: {} } }), 'evict.stats is "x": its keys must be names of pods of the case'],
  [evict({ stats: { x: { memory: { workingSetBytes: -1 } } } }), 'evict.stats.x.memory.workingSetBytes is -1: '],
  [merge({ kind: 'Smell' }), 'merge.kind is "v1 Smell": '],
  [merge({ apiVersion: 'a/b/c' }), 'merge.kind is "a/b/c ConfigMap": '],
  [merge({ steps: [] }), 'merge.steps is []: there must be one at least'],
  [stepWith({ do: 'dance' }), 'merge.steps[1].do is "dance": it must be one of apply, apply-by-force, update, update-forgetting'],
  [stepWith({ manager: '' }), 'merge.steps[1].manager is "": it must be a name'],
  [stepWith({ manager: '\u0007' }), 'merge.steps[1].manager: Invalid value: '],
  [stepWith({ object: null }), 'merge.steps[1].object is null: it must be an object'],
  [stepWith({ object: { kind: 'Pod' } }), 'merge.steps[1].object.kind is "Pod": where it is given, it must be that of the case, ConfigMap'],
  [stepWith({ object: { metadata: 7 } }), 'merge.steps[1].object.metadata is 7: it must be an object'],
  [stepWith({ object: { metadata: { managedFields: [] } } }), 'merge.steps[1].object.metadata.managedFields is []: '],
];

describe.skipIf(reason !== null)(`a line that is no case${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
  it('is told which field, value and rule it is about, and the next line is answered as ever', async () => {
    const answers = await answersTo(BAD.flatMap(([line]) => [line, GOOD]));
    expect(answers.filter((_, index) => index % 2 === 1)).toEqual(BAD.map(() => VERDICT));
    for (const [index, [line, error]] of BAD.entries()) {
      const answer = answers[2 * index] as object;
      expect(Object.keys(answer), line.slice(0, 100)).toEqual(['error']);
      expect(answer).toEqual({ error: expect.stringContaining(error) as string });
    }
  });

  it('is not one with a text that only looks like a huge number', async () => {
    const label = { metadata: { name: '1e1234', uid: '9'.repeat(2000), labels: { version: '1e-999999999', '9e9999': '.'.repeat(200) } } };
    const data = { object: { data: { '1e9999': '1e9999', long: '7'.repeat(2 ** 20) } } };
    const [ranked, scheduled, merged] = await answersTo([evict({ pods: [label] }), schedule({ pod: label }), stepWith(data)]);
    expect(ranked).toEqual({ order: ['1e1234'] });
    expect(scheduled).toHaveProperty('filters.n.code');
    expect(merged).toHaveProperty('steps.1.object.data', data.object.data);
  });

  it('keeps its id where that can be read', async () => {
    const lines = ['{"id": 7, "evict": 7}', '{"id": "seven", "evict": {"signal": "smell"}}', '{"id": "eight", "smell": 7}'];
    expect((await answersTo(lines)).map((answer) => (answer as { readonly id?: unknown }).id)).toEqual([7, 'seven', 'eight']);
  });

  it('is refused when it is too long, however long it is, and the longest that is taken is not', async () => {
    const fits = GOOD.padEnd(LONGEST_LINE - 1);
    const [one, two, three] = await answersTo([`${fits} `, 'x'.repeat(3 * LONGEST_LINE), fits]);
    const rule = `it may have ${LONGEST_LINE} at most`;
    expect([one, two]).toEqual(
      [LONGEST_LINE + 1, 3 * LONGEST_LINE + 1].map((length) => ({ error: `the line has ${length} bytes: ${rule}` })),
    );
    expect(three).toEqual(VERDICT);
  });

  it.for(CHECKS.map((check) => [check.name, check] as const))('never ends it, nor changes the next answer: %s', async ([, check]) => {
    const cases = Array.from({ length: 150 }, (_, seed) => {
      const rng = createRng(seed).fork(`hostile ${check.name}`);
      const question = check.makeCase(rng).questions[0] as object;
      return { rng, question, line: JSON.stringify({ id: `good ${seed}`, ...question }) };
    });
    const alone = await answersTo(cases.map(({ line }) => line));
    const lines = cases.flatMap(({ rng, question, line }) => [...badLines(question, line, rng), line]);
    const answers = await answersTo(lines);
    expect(answers.filter((_, index) => index % 5 === 4).map(withoutChance)).toEqual(alone.map(withoutChance));
    for (const [index, answer] of answers.entries()) {
      expect(Object.keys(answer as object).length).toBeGreaterThan(0);
      if (index % 5 < 2) expect((answer as { readonly id?: unknown }).id).toBe('mutated');
    }
  });
});

function badLines(question: object, line: string, rng: Rng): (string | Buffer)[] {
  const once = mutated(question, rng);
  const twice = mutated(once, rng);
  const asked = [once, twice].map((each) => JSON.stringify({ ...(typeof each === 'object' ? each : {}), id: 'mutated' }));
  return [...asked, garbled(line, rng), garbled(line, rng)];
}

/** Among nodes that are equally good chance decides. */
function withoutChance(answer: unknown): unknown {
  const { preemption, ...rest } = answer as { readonly preemption?: { readonly candidates: unknown } };
  return { ...rest, candidates: preemption?.candidates };
}
