import type { Status } from './status.ts';

type Labels = Readonly<Record<string, string>>;
interface Sample {
  readonly labels?: Labels;
  /** Null: not known now, and left out. */
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
    help: 'Always 1; what runs is in the labels.',
    samples: ({ run, node, version, attempt, state }) => [
      { labels: { run, node, version, attempt: String(attempt ?? ''), state }, value: 1 },
    ],
  },
  { name: 'holdfast_step', type: 'gauge', help: 'The newest step that was reported.', samples: ({ progress }) => one(progress?.step) },
  {
    name: 'holdfast_steps_per_second',
    type: 'gauge',
    help: 'Pace of the last steps.',
    samples: ({ progress }) => one(progress?.stepsPerSecond),
  },
  {
    name: 'holdfast_ranks',
    type: 'gauge',
    help: 'Ranks on this node that speak with the supervisor.',
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
    help: 'Work that would be lost now.',
    samples: ({ unsaved }) => one(unsaved?.seconds),
  },
  {
    name: 'holdfast_unsaved_accelerator_seconds',
    type: 'gauge',
    help: 'The same, times the number of ranks of all nodes: each node tells of all, so take the largest and not the sum.',
    samples: ({ unsaved }) => one(unsaved?.acceleratorSeconds),
  },
  {
    name: 'holdfast_saves_total',
    type: 'counter',
    help: 'Saves by what became of them.',
    samples: ({ saves }) => Object.entries(saves.outcomes).map(([outcome, value]) => ({ labels: { outcome }, value })),
  },
  {
    name: 'holdfast_save_seconds_total',
    type: 'counter',
    help: 'Time of sealed saves, from begin to sealed.',
    samples: ({ saves }) => one(saves.seconds),
  },
  {
    name: 'holdfast_save_write_seconds_total',
    type: 'counter',
    help: 'Of that, the time until they were written, whether the trainer stood still or trained on meanwhile.',
    samples: ({ saves }) => one(saves.writeSeconds),
  },
  {
    name: 'holdfast_save_stall_seconds_total',
    type: 'counter',
    help: 'Of that, the time in which the trainer stood still.',
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
    help: 'Of that, the time in which the trainer stood still.',
    samples: ({ saves }) => one(saves.last?.stallSeconds),
  },
  {
    name: 'holdfast_sealing_seconds',
    type: 'gauge',
    help: 'Time for which the save that was handed over waits for the disk; only while one does.',
    samples: ({ saves }) => one(saves.sealing?.seconds),
  },
  {
    name: 'holdfast_seal_overdue',
    type: 'gauge',
    help: '1 while that is many times what was predicted: the disk may not answer any more.',
    samples: ({ trainer, saves }) => flag(trainer === null ? undefined : saves.sealing?.isOverdue === true),
  },
  {
    name: 'holdfast_predicted_flush_seconds',
    type: 'gauge',
    help: 'What a flush would take if a notice came now.',
    samples: ({ flush }) => [
      { labels: { quantile: '0.5' }, value: flush?.medianSeconds },
      { labels: { quantile: '0.95' }, value: flush?.p95Seconds },
    ],
  },
  {
    name: 'holdfast_predictions_compared',
    type: 'gauge',
    help: 'Predictions of how long a save is written or sealed that were held against what it took, of this run and of what it remembers of earlier ones.',
    samples: ({ saves }) => one(saves.predictions?.compared),
  },
  {
    name: 'holdfast_predictions_in_time',
    type: 'gauge',
    help: 'Of these, the ones that ended within the predicted P95; 19 of 20 should.',
    samples: ({ saves }) => one(saves.predictions?.withinP95),
  },
  {
    name: 'holdfast_prediction_deviation_ratio',
    type: 'gauge',
    help: 'How far they were from the predicted median in the mean, as a share of it.',
    samples: ({ saves }) => one(saves.predictions?.meanDeviation),
  },
  {
    name: 'holdfast_notice_seconds_left',
    type: 'gauge',
    help: 'Time until the process is killed; only while a notice runs.',
    samples: ({ notice }) => one(notice?.secondsLeft),
  },
  {
    name: 'holdfast_advice',
    type: 'gauge',
    help: 'Advice that was given and not taken back.',
    samples: ({ advice }) => advice.map(({ cause }) => ({ labels: { cause }, value: 1 })),
  },
  { name: 'holdfast_restarts_total', type: 'counter', help: 'Restarts of the trainer in place.', samples: ({ restarts }) => one(restarts) },
  { name: 'holdfast_hung', type: 'gauge', help: '1 while the trainer seems to hang.', samples: ({ hang }) => flag(hang?.isHung) },
  {
    name: 'holdfast_quiet_seconds',
    type: 'gauge',
    help: 'Time since the trainer gave a sign of life.',
    samples: ({ hang }) => one(hang?.quietSeconds),
  },
];

/** The metrics in the text form of Prometheus. */
export function renderMetrics(status: Status): string {
  return METRICS.map(({ name, type, help, samples }) => {
    const known = samples(status).flatMap(({ labels = {}, value }) =>
      value === null || value === undefined ? [] : [`${name}${renderLabels(labels)} ${value}\n`],
    );
    return known.length === 0 ? '' : `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${known.join('')}`;
  }).join('');
}

function renderLabels(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

/** The three characters that the form escapes. */
function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
