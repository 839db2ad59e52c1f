import { describe, expect, it } from 'vitest';
import { ALERTS, alertObjects } from '../src/operator/install/alerts.ts';
import { METRICS_PORT } from '../src/operator/install/options.ts';
import { installObjects } from '../src/operator/install/objects.ts';
import { Figures } from '../src/operator/run/figures.ts';
import { at, fieldsOf, listAt } from '../src/kube/objects/fields.ts';
import { FIRST_RECORD, type RunRecord } from '../src/operator/training-run/record.ts';
import { statusOf } from '../src/operator/training-run/training-run.ts';

const AT = '2026-11-18T09:00:00Z';
const SAVED: RunRecord['progress'] = { ...FIRST_RECORD.progress, step: 12, lastGoodStep: 10, sealedAt: AT, steppedAt: AT, reportedAt: AT };

/** The page of an operator that leads, with one run. */
function page(record: Partial<RunRecord>): string {
  const metadata = { name: 'j-4f2a1', namespace: 'n', uid: 'u', resourceVersion: '1', creationTimestamp: AT };
  const job = { apiVersion: 'kubeflow.org/v1', kind: 'PyTorchJob', name: 'j', uid: '4f2a1' };
  const status = statusOf({ ...FIRST_RECORD, ...record });
  const run = { apiVersion: 'holdfast.dev/v1alpha1', kind: 'TrainingRun', metadata, spec: { job }, status };
  return new Figures().page({ isLeader: true, isReady: true, depth: 0, runs: [run] });
}

/** The names and labels of the samples of a page. */
function samples(text: string): ReadonlyMap<string, string> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(lines.map((line) => [/^\w+/.exec(line)?.[0] ?? '', line]));
}

describe('the alerts', () => {
  const running = page({ phase: 'Running', progress: SAVED });
  const failed = page({ phase: 'Failed', endedAt: AT });

  it.each(ALERTS)('$alert asks only for metrics and labels that the operator serves', ({ expr, summary, description }) => {
    const served = new Map([...samples(failed), ...samples(running)]);
    const names = [...expr.matchAll(/holdfast_\w+/g)].map(([name]) => name);
    expect(names.length).toBeGreaterThan(0);
    for (const name of names) expect([...served.keys()]).toContain(name);
    for (const [, label = ''] of `${summary} ${description}`.matchAll(/\$labels\.(\w+)/g)) {
      for (const name of names) expect(served.get(name)).toContain(`${label}="`);
    }
  });

  it('find a run that failed, with the time of its end', () => {
    expect(failed).toContain('phase="Failed"} 1');
    expect(samples(failed).get('holdfast_training_run_ended_timestamp_seconds')).toMatch(/ 1794992400$/);
  });

  it('count unsaved work from the last good checkpoint, or else from the start, where rank 0 reports', () => {
    const since = (record: Partial<RunRecord>): string | undefined =>
      samples(page({ phase: 'Running', firstCreatedAt: '2026-11-18T08:00:00Z', ...record })).get(
        'holdfast_training_run_unsaved_since_timestamp_seconds',
      );
    expect(since({ progress: SAVED })).toMatch(/ 1794992400$/);
    expect(since({ progress: { ...SAVED, sealedAt: null } })).toMatch(/ 1794988800$/);
    expect(since({})).toBeUndefined();
  });

  it('are fed by a monitor that finds the Service of the metrics, and keeps the labels of the samples', () => {
    const [monitor] = alertObjects('system');
    const service = installObjects({ namespace: 'system', image: 'i', watchNamespace: null }).find(({ kind }) => kind === 'Service');
    expect(service?.metadata.labels).toMatchObject(fieldsOf(at(monitor, 'spec', 'selector', 'matchLabels')));
    expect(listAt(monitor, 'spec', 'endpoints')).toMatchObject([{ port: 'metrics', honorLabels: true }]);
    expect(listAt(service, 'spec', 'ports')).toMatchObject([{ name: 'metrics', port: METRICS_PORT }]);
  });
});
