import type { NewObject } from '../../kube/api/api-object.ts';
import { LABELS, NAME, POD_SELECTOR } from './options.ts';

interface Alert {
  readonly alert: string;
  readonly expr: string;
  /** How long it must hold; null: not at all. */
  readonly for: string | null;
  readonly severity: 'critical' | 'warning';
  readonly summary: string;
  readonly description: string;
}

/** Labels that name a run, whichever operator reports it. */
const RUN = '(namespace, run)';
const RUNS_NOW = `and on ${RUN} holdfast_training_run_info{phase="Running"}`;
const WHICH = '{{ $labels.namespace }}/{{ $labels.run }}';
const LOOK = 'kubectl describe trainingrun -n {{ $labels.namespace }} {{ $labels.run }}';

/** The alerts. Their limits are for runs of hours and days; change them for yours. */
export const ALERTS: readonly Alert[] = [
  {
    alert: 'HoldfastRunFailed',
    expr: `holdfast_training_run_info{phase="Failed"} and on ${RUN} (time() - holdfast_training_run_ended_timestamp_seconds < 3600)`,
    for: null,
    severity: 'critical',
    summary: `The run ${WHICH} has failed`,
    description: `The job {{ $labels.job }} has failed within the last hour, and nothing restarts it. Its cause: ${LOOK}`,
  },
  {
    alert: 'HoldfastRunMakesNoProgress',
    expr: `time() - holdfast_training_run_stepped_timestamp_seconds > 1800 ${RUNS_NOW}`,
    for: '5m',
    severity: 'warning',
    summary: `The run ${WHICH} has made no step for half an hour`,
    description: `All its pods run, and its step stays the same since {{ $value | humanizeDuration }}. Compare the steps of its ranks: ${LOOK}`,
  },
  {
    alert: 'HoldfastWorkUnsaved',
    expr: `time() - holdfast_training_run_unsaved_since_timestamp_seconds > 7200 ${RUNS_NOW}`,
    for: '5m',
    severity: 'warning',
    summary: `The run ${WHICH} would lose more than two hours of work`,
    description: `Its last good checkpoint is {{ $value | humanizeDuration }} old. Save more often, or find out why saves fail: ${LOOK}`,
  },
  {
    alert: 'HoldfastRestartLoop',
    expr:
      `max by ${RUN} (holdfast_training_run_attempt) - min by ${RUN} (min_over_time(holdfast_training_run_attempt[1h])) >= 5 ` +
      `unless on ${RUN} (time() - holdfast_training_run_sealed_timestamp_seconds < 3600)`,
    for: null,
    severity: 'warning',
    summary: `The run ${WHICH} restarts without progress`,
    description: `It has started {{ $value }} attempts within an hour, and sealed no checkpoint in that time. The cause of each: ${LOOK}`,
  },
  {
    alert: 'HoldfastNoOperatorLeads',
    expr: 'absent(holdfast_operator_leader == 1)',
    for: '5m',
    severity: 'critical',
    summary: 'No operator runs the training jobs',
    description: `Pods train on, but no lost pod is replaced. Look at the Deployment ${NAME}, and at its Lease.`,
  },
];

/**
 * The alerts for the operator of Prometheus, and how it scrapes. Both replicas are scraped, and the
 * leader alone reports runs; the labels of its samples name the job and its namespace.
 */
export function alertObjects(namespace: string): readonly NewObject[] {
  const metadata = { name: NAME, namespace, labels: LABELS };
  const apiVersion = 'monitoring.coreos.com/v1';
  return [
    {
      apiVersion,
      kind: 'ServiceMonitor',
      metadata,
      spec: { selector: { matchLabels: LABELS }, endpoints: [{ port: 'metrics', interval: '30s', honorLabels: true }] },
    },
    {
      apiVersion,
      kind: 'PrometheusRule',
      metadata,
      spec: { groups: [{ name: POD_SELECTOR['app.kubernetes.io/name'], rules: ALERTS.map(ruleOf) }] },
    },
  ];
}

function ruleOf({ alert, expr, for: holds, severity, summary, description }: Alert): Readonly<Record<string, unknown>> {
  return { alert, expr, ...(holds === null ? {} : { for: holds }), labels: { severity }, annotations: { summary, description } };
}
