import { type Labels, metricHead, metricSample } from '../../core/prometheus.ts';
import type { Status } from './status.ts';

interface Sample {
  readonly labels?: Labels;
  /** Null: unknown now, and left out. */
  readonly value: number | null | undefined;
}

interface Metric {
  readonly name: string;
  readonly type: 'gauge' | 'counter';
  readonly help: string;
  readonly samples: (status: Status) => readonly Sample[];
}

const one = (value: number | null | undefined): readonly Sample[] => [{ value }];
const flag = (value: boolean | undefined): readonly Sample[] => one(value === undefined ? null : value ? 1 : 0);

/** Every metric, in the order in which they are served. */
export const METRICS: readonly Metric[] = [
  {
    name: 'holdfast_run_info',
    type: 'gauge',
    help: 'Always 1; the labels describe the run.',
    samples: ({ run, node, version, attempt, state }) => [
      { labels: { run, node, version, attempt: String(attempt ?? ''), state }, value: 1 },
    ],
  },
  { name: 'holdfast_step', type: 'gauge', help: 'The newest step that was reported.', samples: ({ progress }) => one(progress?.step) },
  {
    name: 'holdfast_steps_per_second',
    type: 'gauge',
    help: 'Steps per second over the last steps.',
    samples: ({ progress }) => one(progress?.stepsPerSecond),
  },
  {
    name: 'holdfast_ranks',
    type: 'gauge',
    help: 'Ranks on this node that are attached to the supervisor.',
    samples: ({ trainer }) => one(trainer?.ranks),
  },
  {
    name: 'holdfast_last_good_step',
    type: 'gauge',
    help: 'Step of the last good checkpoint.',
    samples: ({ lastGood }) => one(lastGood?.step),
  },
  {
    name: 'holdfast_last_good_age_seconds',
    type: 'gauge',
    help: 'Time since the state of the last good checkpoint was taken.',
    samples: ({ lastGood }) => one(lastGood?.ageSeconds),
  },
  {
    name: 'holdfast_unsaved_seconds',
    type: 'gauge',
    help: 'Work that a kill would lose now.',
    samples: ({ unsaved }) => one(unsaved?.seconds),
  },
  {
    name: 'holdfast_unsaved_accelerator_seconds',
    type: 'gauge',
    help: 'The same, times the number of ranks of all nodes. Each node reports the whole run: take the maximum, not the sum.',
    samples: ({ unsaved }) => one(unsaved?.acceleratorSeconds),
  },
  {
    name: 'holdfast_saves_total',
    type: 'counter',
    help: 'Saves by outcome.',
    samples: ({ saves }) => Object.entries(saves.outcomes).map(([outcome, value]) => ({ labels: { outcome }, value })),
  },
  {
    name: 'holdfast_save_seconds_total',
    type: 'counter',
    help: 'Time of sealed saves, from start to seal.',
    samples: ({ saves }) => one(saves.seconds),
  },
  {
    name: 'holdfast_save_write_seconds_total',
    type: 'counter',
    help: 'Of that, the time until they were written, including the time in which the trainer kept training.',
    samples: ({ saves }) => one(saves.writeSeconds),
  },
  {
    name: 'holdfast_save_stall_seconds_total',
    type: 'counter',
    help: 'Of that, the time in which the trainer stalled.',
    samples: ({ saves }) => one(saves.stallSeconds),
  },
  { name: 'holdfast_save_bytes_total', type: 'counter', help: 'Bytes of sealed saves.', samples: ({ saves }) => one(saves.bytes) },
  {
    name: 'holdfast_last_save_seconds',
    type: 'gauge',
    help: 'Time of the newest sealed save.',
    samples: ({ saves }) => one(saves.last?.seconds),
  },
  {
    name: 'holdfast_last_save_stall_seconds',
    type: 'gauge',
    help: 'Of that, the time in which the trainer stalled.',
    samples: ({ saves }) => one(saves.last?.stallSeconds),
  },
  {
    name: 'holdfast_sealing_seconds',
    type: 'gauge',
    help: 'Time for which a written save has been waiting for the disk; absent without such a save.',
    samples: ({ saves }) => one(saves.sealing?.seconds),
  },
  {
    name: 'holdfast_seal_overdue',
    type: 'gauge',
    help: '1 while that is many times the predicted time: the disk may have stopped responding.',
    samples: ({ trainer, saves }) => flag(trainer === null ? undefined : saves.sealing?.isOverdue === true),
  },
  {
    name: 'holdfast_predicted_flush_seconds',
    type: 'gauge',
    help: 'Predicted time of a flush if a notice came now.',
    samples: ({ flush }) => [
      { labels: { percentile: '50' }, value: flush?.medianSeconds },
      { labels: { percentile: '95' }, value: flush?.p95Seconds },
    ],
  },
  {
    name: 'holdfast_predictions_compared',
    type: 'gauge',
    help: 'Predicted write and seal times that were compared with the real ones, by this supervisor and by earlier ones.',
    samples: ({ saves }) => one(saves.predictions?.compared),
  },
  {
    name: 'holdfast_predictions_in_time',
    type: 'gauge',
    help: 'Of these, the ones within the predicted P95; 19 of 20 should be.',
    samples: ({ saves }) => one(saves.predictions?.withinP95),
  },
  {
    name: 'holdfast_prediction_deviation_ratio',
    type: 'gauge',
    help: 'Mean deviation from the predicted median, as a share of the median.',
    samples: ({ saves }) => one(saves.predictions?.meanDeviation),
  },
  {
    name: 'holdfast_notice_seconds_left',
    type: 'gauge',
    help: 'Time until the process is killed; absent without a notice that ends the attempt.',
    samples: ({ notice }) => one(notice?.secondsLeft),
  },
  {
    name: 'holdfast_advice',
    type: 'gauge',
    help: 'Advice that was given and not withdrawn.',
    samples: ({ advice }) => advice.map(({ cause }) => ({ labels: { cause }, value: 1 })),
  },
  {
    name: 'holdfast_restarts_total',
    type: 'counter',
    help: 'Restarts of the trainer by this supervisor.',
    samples: ({ restarts }) => one(restarts),
  },
  { name: 'holdfast_hung', type: 'gauge', help: '1 while the trainer seems to hang.', samples: ({ hang }) => flag(hang?.isHung) },
  {
    name: 'holdfast_quiet_seconds',
    type: 'gauge',
    help: 'Time since the last sign of life of the trainer.',
    samples: ({ hang }) => one(hang?.quietSeconds),
  },
];

/** The metrics in the text format of Prometheus. */
export function renderMetrics(status: Status): string {
  const lines = METRICS.flatMap(({ name, type, help, samples }) => {
    const known = samples(status).flatMap(({ labels = {}, value }) =>
      value === null || value === undefined ? [] : [metricSample(name, labels, value)],
    );
    return known.length === 0 ? [] : [...metricHead(name, type, help), ...known];
  });
  return lines.map((line) => `${line}\n`).join('');
}
