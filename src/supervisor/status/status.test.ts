import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeNotice } from '../../domain/grace/notice.ts';
import { formatAddress, parseStatusAddress } from '../settings/status-address.ts';
import { METRICS, renderMetrics } from './metrics.ts';
import { type LiveFacts, makeStatus, type StatusFacts } from './status.ts';
import { countEvent, FIRST_TOTALS } from './totals.ts';

const NOW = Date.UTC(2026, 0, 1);
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
  savePhase: 'idle',
  savesOnRequest: true,
  seal: null,
  flush: [
    { medianMs: 250, p95Ms: 500, samples: 9 },
    { medianMs: 1000, p95Ms: 2000, samples: 9 },
    { medianMs: 3000, p95Ms: 4000, samples: 9 },
  ],
  predictions: { compared: 40, withinP95: 38, meanDeviation: 0.2 },
  hang: null,
};
const FACTS: StatusFacts = {
  run: 'r',
  node: 'n "1"\n',
  version: '1',
  nowMs: NOW,
  attempt: 3,
  totals: FIRST_TOTALS,
  notices: [],
  deadline: null,
  live: LIVE,
};

describe('the status of a run', () => {
  it('counts unsaved work in accelerator-seconds, and a flush with the rest of the step', () => {
    expect(makeStatus(FACTS)).toMatchObject({
      state: 'training',
      unsaved: { steps: 20, seconds: 9, accelerators: 8, acceleratorSeconds: 72 },
      flush: { medianSeconds: 4.25, p95Seconds: 6.5 },
      lastGood: { step: 100, ageSeconds: 12 },
      hang: null,
    });
  });

  it('reports whether a save can be asked for, while there is a trainer', () => {
    expect(makeStatus({ ...FACTS, live: { ...LIVE, savesOnRequest: false } }).saves.onRequest).toBe(false);
    expect(makeStatus({ ...FACTS, live: null }).saves.onRequest).toBeNull();
  });

  it('reports how well saves were predicted, while there is a trainer', () => {
    expect(makeStatus(FACTS).saves.predictions).toEqual({ compared: 40, withinP95: 38, meanDeviation: 0.2 });
    expect(renderMetrics(makeStatus(FACTS))).toContain('holdfast_predictions_in_time 38\n');
    expect(makeStatus({ ...FACTS, live: null }).saves.predictions).toBeNull();
  });

  it('reports unknown values as null', () => {
    const live = { ...LIVE, lastGoodStep: null, lastGoodAgeMs: null, flush: [null, null, null] as const };
    expect(makeStatus({ ...FACTS, live })).toMatchObject({ lastGood: null, flush: null });
    expect(makeStatus({ ...FACTS, live: { ...LIVE, unsavedMs: null } }).unsaved).toBeNull();
    expect(makeStatus({ ...FACTS, live: null })).toMatchObject({ state: 'starting', trainer: null, progress: null, unsaved: null });
  });

  it('reports the time that a notice leaves, and the current advice', () => {
    const notices = [
      makeNotice({ cause: 'sigterm', atMs: NOW - 1000, source: 'signal' }),
      makeNotice({ cause: 'aws-rebalance', atMs: NOW, source: 'metadata' }),
    ];
    const deadline = { deadlineMs: NOW + 14_000, sinceMs: NOW - 1000, graceMs: 15_000, confidence: 'guess' as const, reasons: [] };
    const status = makeStatus({ ...FACTS, notices, deadline });
    expect(status).toMatchObject({
      state: 'ending',
      notice: { cause: 'sigterm', secondsLeft: 14, confidence: 'guess', deadline: '2026-01-01T00:00:14.000Z' },
      advice: [{ cause: 'aws-rebalance' }],
    });
    expect(renderMetrics(status)).toContain('holdfast_notice_seconds_left 14\n');
  });

  it('counts the events that are recorded', () => {
    const ended = {
      kind: 'save-ended',
      save: 's',
      step: 5,
      stallMs: 250,
      copyMs: null,
      checksumMs: 1,
      commitMs: null,
      problem: null,
    } as const;
    const totals = [
      { ...ended, outcome: 'sealed', bytes: 100, totalMs: 3000, writeMs: 1000 } as const,
      { ...ended, outcome: 'failed', bytes: null, totalMs: 1, writeMs: null } as const,
      { kind: 'hang', quietMs: 1, limitMs: 1, sentence: '' } as const,
    ].reduce(countEvent, FIRST_TOTALS);
    expect(totals).toMatchObject({ saves: { sealed: 1, failed: 1 }, hangs: 1, sealedBytes: 100, lastSave: { step: 5 } });
    const text = renderMetrics(makeStatus({ ...FACTS, totals }));
    expect(text).toContain('holdfast_saves_total{outcome="failed"} 1\n');
    expect(text).toContain('holdfast_save_seconds_total 3\n');
    expect(text).toContain('holdfast_save_write_seconds_total 1\n');
    expect(text).toContain('holdfast_save_stall_seconds_total 0.25\n');
    expect(text).toContain('holdfast_last_save_stall_seconds 0.25\n');
    expect(text).toContain('node="n \\"1\\"\\n"');
  });

  it('keeps the rules of promlint in the names, types and labels of all metrics', () => {
    const names = METRICS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    const notices = [makeNotice({ cause: 'sigterm', atMs: NOW, source: 'signal' })];
    const status = makeStatus({ ...FACTS, notices });
    for (const { name, type, help, samples } of METRICS) {
      expect(name).toMatch(/^holdfast_[a-z_]+$/);
      expect(help).not.toBe('');
      expect(name.endsWith('_total')).toBe(type === 'counter');
      // These suffixes and labels belong to histograms and summaries.
      expect(name).not.toMatch(/_(count|sum|bucket)$/);
      const labels = samples(status).flatMap((sample) => Object.keys(sample.labels ?? {}));
      expect(labels).not.toContain('quantile');
      expect(labels).not.toContain('le');
    }
  });

  it('reports a save that waits for the disk, and whether the wait is too long', () => {
    const seal = { isOverdue: true, step: 120, tookMs: 60_000, limitMs: 30_000, sentence: 'sealing step 120 has taken 1m so far' };
    const status = makeStatus({ ...FACTS, live: { ...LIVE, savePhase: 'sealing', seal } });
    expect(status.saves).toMatchObject({
      phase: 'sealing',
      sealing: { step: 120, isOverdue: true, seconds: 60, limitSeconds: 30, sentence: 'sealing step 120 has taken 1m so far' },
    });
    expect(renderMetrics(status)).toContain('holdfast_sealing_seconds 60\n');
    expect(renderMetrics(status)).toContain('holdfast_seal_overdue 1\n');
    const idle = renderMetrics(makeStatus(FACTS));
    expect(idle).not.toContain('holdfast_sealing_seconds');
    expect(idle).toContain('holdfast_seal_overdue 0\n');
    expect(renderMetrics(makeStatus({ ...FACTS, live: null }))).not.toContain('holdfast_seal_overdue');
  });

  it('has every metric in its reference page', () => {
    const page = readFileSync(join(import.meta.dirname, '../../../docs/reference/status.md'), 'utf8');
    for (const { name, type, help } of METRICS) expect(page).toContain(`| \`${name}\` | ${type} | ${help} |`);
  });
});

describe('the address of a status', () => {
  it.each([
    ['9400', '127.0.0.1:9400'],
    ['0.0.0.0:9400', '0.0.0.0:9400'],
    ['[::1]:0', '[::1]:0'],
    ['localhost:1', 'localhost:1'],
  ])('%s is read as %s', (text, address) => {
    const read = parseStatusAddress(text);
    expect(read.ok && formatAddress(read.value)).toBe(address);
  });

  it.each(['', 'x', '-1', '65536', '1.2.3:9', 'example.org:80', '::1:9', ':9', '1:2:3'])('the text "%s" is refused', (text) => {
    expect(parseStatusAddress(text).ok).toBe(false);
  });
});
