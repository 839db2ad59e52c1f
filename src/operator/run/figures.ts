import { type Labels, metricHead, metricSample } from '../../core/prometheus.ts';
import type { ApiObject } from '../../kube/api/api-object.ts';
import type { Reconciled } from '../../kube/control/controller.ts';
import { numberAt, textAt, timeAt } from '../../kube/objects/fields.ts';
import type { JobKind } from '../kinds/kind.ts';
import type { JobCounter } from '../reconcile/draft.ts';
import type { PodCounter } from '../reconcile/world.ts';
import { subjectOf } from '../training-run/training-run.ts';

/** The counters of v1, under its names, so that dashboards keep working. */
const JOB_COUNTERS: Readonly<Record<JobCounter, string>> = {
  created: 'Counts number of jobs created.',
  deleted: 'Counts number of jobs deleted.',
  successful: 'Counts number of jobs successful.',
  failed: 'Counts number of jobs failed.',
  restarted: 'Counts number of jobs restarted.',
};
const POD_COUNTERS: Readonly<Record<PodCounter, string>> = {
  created_pods_total: 'Pods created.',
  deleted_pods_total: 'Pods deleted.',
  failed_pods_total: 'Pods that failed.',
  created_pod_groups_total: 'PodGroups created.',
  deleted_pod_groups_total: 'PodGroups deleted.',
  succeeded_service_creation_total: 'Services created.',
  failed_service_creation_total: 'Services that could not be created.',
};
const OUTCOMES: readonly Reconciled['kind'][] = ['settled', 'again', 'behind', 'retry', 'stuck'];

/** What the page shows beside the counters. */
export interface FiguresNow {
  readonly isLeader: boolean;
  readonly isReady: boolean;
  /** The number of jobs that wait for their turn. */
  readonly depth: number;
  /** The TrainingRuns; none where another operator leads, so that nothing is counted twice. */
  readonly runs: Iterable<ApiObject>;
}

/** The counters of one operator process, and the page of `/metrics`. */
export class Figures {
  readonly #jobs = new Map<string, { readonly counter: JobCounter; readonly labels: Labels; count: number }>();
  readonly #pods = new Map<PodCounter, number>();
  readonly #outcomes = new Map<Reconciled['kind'], number>();

  countJob(counter: JobCounter, { framework }: Pick<JobKind, 'framework'>, namespace: string): void {
    const key = `${counter} ${framework} ${namespace}`;
    const known = this.#jobs.get(key) ?? { counter, labels: { job_namespace: namespace, framework }, count: 0 };
    known.count += 1;
    this.#jobs.set(key, known);
  }

  count(name: PodCounter, by = 1): void {
    this.#pods.set(name, (this.#pods.get(name) ?? 0) + by);
  }

  countOutcome({ kind }: Reconciled): void {
    this.#outcomes.set(kind, (this.#outcomes.get(kind) ?? 0) + 1);
  }

  /** The page in the text format of Prometheus. */
  page(now: FiguresNow): string {
    return [...this.#countersOfV1(), ...this.#own(now), ...runFamilies([...now.runs]), ''].join('\n');
  }

  #countersOfV1(): readonly string[] {
    const jobs = Object.entries(JOB_COUNTERS).flatMap(([counter, help]) => {
      const name = `training_operator_jobs_${counter}_total`;
      const counted = [...this.#jobs.values()].filter((each) => each.counter === counter);
      return [...metricHead(name, 'counter', help), ...counted.map(({ labels, count }) => metricSample(name, labels, count))];
    });
    const pods = Object.entries(POD_COUNTERS).flatMap(([name, help]) => [
      ...metricHead(name, 'counter', help),
      metricSample(name, {}, this.#pods.get(name as PodCounter) ?? 0),
    ]);
    return [...jobs, ...pods];
  }

  #own({ isLeader, isReady, depth }: FiguresNow): readonly string[] {
    const reconciles = 'holdfast_operator_reconciles_total';
    return [
      ...gauge('holdfast_operator_leader', 'Whether this operator leads.', isLeader ? 1 : 0),
      ...gauge('holdfast_operator_ready', 'Whether this operator has read everything that it watches.', isReady ? 1 : 0),
      ...gauge('holdfast_operator_queue_depth', 'Jobs and TrainingRuns that wait for their turn.', depth),
      ...metricHead(reconciles, 'counter', 'Looks at a job or a TrainingRun, by outcome.'),
      ...OUTCOMES.map((outcome) => metricSample(reconciles, { outcome }, this.#outcomes.get(outcome) ?? 0)),
    ];
  }
}

function gauge(name: string, help: string, value: number): readonly string[] {
  return [...metricHead(name, 'gauge', help), metricSample(name, {}, value)];
}

interface RunFamily {
  readonly name: string;
  readonly help: string;
  /** Null: unknown, and left out. */
  readonly of: (run: ApiObject) => number | null;
}

const seconds = (ms: number | null): number | null => (ms === null ? null : ms / 1000);

/**
 * Since when work would be lost: the last good state, or the first pod. Null: rank 0 does not
 * report, so that the operator does not know.
 */
function unsavedSince(run: ApiObject): number | null {
  if (timeAt(run, 'status', 'progress', 'reportedAt') === null) return null;
  return seconds(timeAt(run, 'status', 'progress', 'sealedAt') ?? timeAt(run, 'status', 'firstCreatedAt'));
}

/** What is told of every TrainingRun that has not ended. */
const RUN_FAMILIES: readonly RunFamily[] = [
  { name: 'holdfast_training_run_attempt', help: 'The current attempt.', of: (run) => numberAt(run, 'status', 'attempt') },
  {
    name: 'holdfast_training_run_interruptions',
    help: 'Interruptions of the whole run.',
    of: (run) => numberAt(run, 'status', 'budgets', 'interruptions'),
  },
  {
    name: 'holdfast_training_run_errors',
    help: 'Errors since the last progress.',
    of: (run) => numberAt(run, 'status', 'budgets', 'errors'),
  },
  { name: 'holdfast_training_run_step', help: 'The newest step of rank 0.', of: (run) => numberAt(run, 'status', 'progress', 'step') },
  {
    name: 'holdfast_training_run_stepped_timestamp_seconds',
    help: 'When the step of rank 0 last changed.',
    of: (run) => seconds(timeAt(run, 'status', 'progress', 'steppedAt')),
  },
  {
    name: 'holdfast_training_run_sealed_timestamp_seconds',
    help: 'When the state of the last good checkpoint was taken.',
    of: (run) => seconds(timeAt(run, 'status', 'progress', 'sealedAt')),
  },
  {
    name: 'holdfast_training_run_unsaved_since_timestamp_seconds',
    help: 'The time from which work would be lost now: that of the last good checkpoint, or of the start.',
    of: unsavedSince,
  },
  {
    name: 'holdfast_training_run_lost_accelerator_seconds',
    help: 'Accelerator time that was trained again.',
    of: (run) => numberAt(run, 'status', 'totals', 'lostAcceleratorSeconds'),
  },
];

function runFamilies(runs: readonly ApiObject[]): readonly string[] {
  const live = runs.filter((run) => textAt(run, 'status', 'endedAt') === null);
  const [info, ended] = ['holdfast_training_run_info', 'holdfast_training_run_ended_timestamp_seconds'];
  return [
    ...metricHead(info, 'gauge', 'Always 1; the labels describe the run, also after its end.'),
    ...runs.map((run) => metricSample(info, { ...labelsOf(run), phase: textAt(run, 'status', 'phase') ?? 'Pending' }, 1)),
    ...family({ name: ended, help: 'When the run ended.', of: (run) => seconds(timeAt(run, 'status', 'endedAt')) }, runs),
    ...RUN_FAMILIES.flatMap((each) => family(each, live)),
  ];
}

function family({ name, help, of }: RunFamily, runs: readonly ApiObject[]): readonly string[] {
  return [
    ...metricHead(name, 'gauge', help),
    ...runs.flatMap((run) => {
      const value = of(run);
      return value === null ? [] : [metricSample(name, labelsOf(run), value)];
    }),
  ];
}

function labelsOf(run: ApiObject): Labels {
  const subject = subjectOf(run);
  return { namespace: run.metadata.namespace ?? '', run: run.metadata.name, kind: subject?.kind ?? '', job: subject?.name ?? '' };
}
