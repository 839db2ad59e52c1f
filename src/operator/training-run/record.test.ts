import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { at, fieldsOf, listAt, textAt } from '../../kube/objects/fields.ts';
import { TRAINING_RUN_DEFINITION } from './definition.ts';
import { parseRecord } from './parse-record.ts';
import { currentAttempt, FIRST_RECORD, type RunRecord, withAttempt, withNextAttempt } from './record.ts';
import { statusOf } from './training-run.ts';

const AT = '2026-11-18T09:00:00Z';
const END = {
  cause: 'API_EVICTION',
  pod: 'j-worker-1',
  node: 'node-1',
  nodePool: 'spot',
  zone: 'a',
  machineType: 'm',
  exitCode: 143,
  lostSteps: 5,
  lostSeconds: 6,
  accelerators: 8,
} as const;
const FULL: RunRecord = {
  ...withNextAttempt(
    withAttempt(FIRST_RECORD, 1, { createdAt: AT, startedAt: AT, detectedAt: AT, end: END, placement: 'spot', placementReason: 'x' }),
    AT,
  ),
  phase: 'BackingOff',
  seen: { Worker: 2 },
  replacing: [{ role: 'Worker', index: 1, uid: null, lostAt: AT, notBefore: AT }],
  scaledDown: ['uid-of-worker-2'],
  budgets: { errors: 1, doubts: 2, inARow: 3, same: { times: 2, trace: { exitCode: 1, line: '' } }, furthestStep: 10, interruptions: 4 },
  refund: { errors: 0, doubts: 2, inARow: 2, same: null, furthestStep: 10, interruptions: 4 },
  progress: {
    step: 12,
    lastGoodStep: 10,
    sealedAt: AT,
    steppedAt: AT,
    accelerators: 8,
    loss: 0.25,
    trial: '1-rate=0.5',
    unsavedAcceleratorSeconds: 16,
    saveSeconds: 2.5,
    reportedAt: AT,
  },
  totals: { lostSteps: 5, lostAcceleratorSeconds: 48, trainedSeconds: 100, lostSeconds: 6, goodputPercent: 90 },
  room: {
    stage: 'back',
    pod: 'web/api',
    podUid: 'u',
    node: 'node-1',
    priority: -5,
    pods: ['j-worker-1'],
    askedAt: AT,
    deadlineAt: AT,
    savedAt: AT,
    savedStep: 10,
    leftAt: AT,
    backAt: AT,
    reason: 'a budget refused an eviction',
  },
  failure: { attempt: 1, pod: 'j-master-0', exitCode: 1, log: ['ValueError'] },
  isRepeating: true,
  firstCreatedAt: AT,
  endedAt: AT,
};

describe('the record of a run', () => {
  it('is read from a status as it was written', () => {
    for (const record of [FIRST_RECORD, FULL]) expect(parseRecord(JSON.parse(JSON.stringify(statusOf(record))))).toEqual(record);
  });

  it('is absent before its first write', () => {
    for (const status of [undefined, null, {}, { attempt: 0 }, { attempt: 'x' }]) expect(parseRecord(status)).toBeNull();
  });

  it('keeps the last twenty attempts, and their numbers grow', () => {
    let record = FIRST_RECORD;
    for (let count = 0; count < 30; count++) record = withNextAttempt(record, null);
    expect(record.attempts.map(({ number }) => number)).toEqual(Array.from({ length: 20 }, (_, index) => index + 12));
    expect(currentAttempt(record).number).toBe(31);
  });

  it('is read from any JSON without an error, and always has its current attempt', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.integer({ min: 1, max: 99 }), (value, attempt) => {
        const noise = {
          attempts: value,
          seen: value,
          replacing: value,
          scaledDown: value,
          adopted: value,
          budgets: value,
          progress: value,
          totals: value,
          failure: value,
        };
        const record = parseRecord({ ...noise, attempt });
        expect(record?.attempts.some(({ number }) => number === attempt)).toBe(true);
      }),
    );
  });

  it('has a text or nothing for each column of texts, because kubectl shows null as <no value>', () => {
    const [version] = listAt(TRAINING_RUN_DEFINITION, 'spec', 'versions');
    const columns = listAt(version, 'additionalPrinterColumns').filter((column) => textAt(column, 'type') === 'string');
    const status = { status: statusOf(FIRST_RECORD) };
    const shown = columns.map((column) => at(status, ...(textAt(column, 'jsonPath') ?? '').split('.').slice(1)));
    expect(shown.length).toBeGreaterThan(3);
    expect(shown.filter((value) => value === null)).toEqual([]);
  });

  it('has a place in the schema for each of its fields, because the API server drops every other one', () => {
    const [version] = listAt(TRAINING_RUN_DEFINITION, 'spec', 'versions');
    const schema = at(version, 'schema', 'openAPIV3Schema', 'properties', 'status');
    expect(pathsOf(JSON.parse(JSON.stringify(statusOf(FULL)))).filter((path) => !isKnown(schema, path))).toEqual([]);
  });
});

/** The path of every value; a list counts with its items. */
function pathsOf(value: unknown, path: readonly string[] = []): readonly (readonly string[])[] {
  if (Array.isArray(value)) return value.flatMap((each) => pathsOf(each, [...path, '[]']));
  if (typeof value !== 'object' || value === null) return [path];
  return Object.entries(value).flatMap(([name, each]) => pathsOf(each, [...path, name]));
}

function isKnown(schema: unknown, [name, ...rest]: readonly string[]): boolean {
  if (name === undefined) return schema !== undefined;
  if (name === '[]') return isKnown(at(schema, 'items'), rest);
  const properties = fieldsOf(at(schema, 'properties'));
  return isKnown(Object.hasOwn(properties, name) ? properties[name] : at(schema, 'additionalProperties'), rest);
}
