import { makeNotice } from '../../src/domain/grace/notice.ts';
import { renderMetrics } from '../../src/supervisor/status/metrics.ts';
import { type LiveFacts, makeStatus, type Status, type StatusFacts } from '../../src/supervisor/status/status.ts';
import { FIRST_TOTALS } from '../../src/supervisor/status/totals.ts';
import type { LiveRun } from './live-run.ts';
import { type Shape, shapeOf } from './shape.ts';

const PREDICTION = { medianMs: 1000, p95Ms: 2000, samples: 9 };
const LIVE: LiveFacts = {
  pid: 7,
  ranks: 2,
  worldSize: 8,
  step: 120,
  stepMs: 500,
  stepsPerSecond: 2.5,
  lastGoodStep: 100,
  lastGoodAgeMs: 12_000,
  unsavedMs: 9000,
  unsavedSteps: 20,
  savePhase: 'sealing',
  savesOnRequest: true,
  seal: { isOverdue: true, step: 120, tookMs: 900_000, limitMs: 600_000, sentence: 'nothing moves' },
  flush: [PREDICTION, PREDICTION, PREDICTION],
  predictions: { compared: 40, withinP95: 38, meanDeviation: 0.2 },
  hang: { isHung: true, quietMs: 900_000, limitMs: 600_000, sentence: 'no step' },
};
const FACTS: StatusFacts = {
  run: 'r',
  node: 'n',
  version: '1',
  nowMs: 0,
  attempt: 3,
  totals: { ...FIRST_TOTALS, lastSave: { step: 100, bytes: 7, totalMs: 3, writeMs: 2, stallMs: 1 } },
  notices: [
    makeNotice({ cause: 'aws-spot', atMs: 0, deadlineMs: 9, source: 'metadata', detail: 'instance-action terminate' }),
    makeNotice({ cause: 'aws-rebalance', atMs: 0, source: 'metadata' }),
  ],
  deadline: { deadlineMs: 14_000, sinceMs: 0, graceMs: 15_000, confidence: 'known', reasons: [] },
  live: LIVE,
};
/** Every fact that may be unknown is unknown. */
const LEAST: LiveFacts = {
  ...LIVE,
  worldSize: null,
  step: null,
  stepMs: null,
  stepsPerSecond: null,
  lastGoodStep: null,
  lastGoodAgeMs: null,
  unsavedMs: null,
  unsavedSteps: null,
  seal: null,
  flush: [null, null, null],
  predictions: { compared: 0, withinP95: 0, meanDeviation: 0 },
  hang: null,
};
const STATUS: readonly Status[] = [
  makeStatus(FACTS),
  makeStatus({ ...FACTS, live: LEAST, deadline: null, totals: FIRST_TOTALS }),
  makeStatus({ ...FACTS, live: null, notices: [], deadline: null, attempt: null }),
];

/**
 * The shape of `/status`, with everything known and with everything unknown. A real run may have no
 * other fields.
 */
export function statusShape({ status }: LiveRun): Shape {
  const shape = shapeOf(STATUS);
  const strange = Object.keys(shapeOf(status)).filter((place) => !Object.hasOwn(shape, place));
  if (strange.length > 0) throw new Error(`the live status has what is not in the recorded one: ${strange.join(', ')}`);
  return shape;
}

/** Every sample of `/metrics` with its labels. A real run may have no others. */
export function metricSamples({ metrics }: LiveRun): readonly string[] {
  const samples = samplesOf(STATUS.map(renderMetrics));
  const strange = samplesOf(metrics).filter((sample) => !samples.includes(sample));
  if (strange.length > 0) throw new Error(`the live metrics have what is not in the recorded ones: ${strange.join(', ')}`);
  return samples;
}

function samplesOf(texts: readonly string[]): readonly string[] {
  const lines = texts.join('').split('\n');
  const samples = lines.filter((line) => line.startsWith('holdfast_')).map((line) => line.replace(/ \S+$/, '').replaceAll(/="[^"]*"/g, ''));
  return [...new Set(samples)].sort();
}
