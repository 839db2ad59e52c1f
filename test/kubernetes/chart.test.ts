import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { NewObject } from '../../src/kube/api/api-object.ts';
import { alertObjects } from '../../src/operator/install/alerts.ts';
import { customResources } from '../../src/operator/install/job-definitions.ts';
import { installObjects } from '../../src/operator/install/objects.ts';
import { ROOT } from '../support/run-process.ts';

const CHART = join(ROOT, 'charts/holdfast');
const IMAGE = 'registry.example.com/holdfast:1';
/** Helm, or the reason why there is none. */
const helm = findHelm();
const why = typeof helm === 'string' ? '' : ` (skipped: ${helm.reason})`;

function findHelm(): string | { readonly reason: string } {
  try {
    return execFileSync(join(import.meta.dirname, 'setup-helm.sh'), { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim();
  } catch {
    return { reason: 'helm is not here and cannot be built: that needs Go and a module proxy' };
  }
}

function run(...args: readonly string[]): string {
  return execFileSync(typeof helm === 'string' ? helm : 'helm', args, { encoding: 'utf8', stdio: 'pipe' });
}

/** The objects that Helm makes of the chart, with these values. */
function rendered(namespace: string, values: Readonly<Record<string, string>>): readonly NewObject[] {
  const settings = Object.entries(values).map(([name, value]) => `--set-string=${name}=${value}`);
  // Helm that is built from its module takes itself for a very old Kubernetes.
  const text = run('template', 'any-release', CHART, `--namespace=${namespace}`, '--kube-version=1.35.0', '--include-crds', ...settings);
  return parseAllDocuments(text).map((document) => document.toJSON() as NewObject);
}

/** In an order of their own: Helm sorts by kind. */
function sorted(objects: readonly NewObject[]): readonly NewObject[] {
  const keyOf = ({ kind, metadata }: NewObject): string => `${kind} ${metadata.namespace ?? ''} ${metadata.name ?? ''}`;
  return objects.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

describe.skipIf(typeof helm !== 'string')(`the Helm chart${why}`, () => {
  it('passes helm lint', () => {
    expect(run('lint', CHART, '--strict', '--kube-version=1.35.0', `--set=image=${IMAGE}`)).toContain('0 chart(s) failed');
  });

  it.each([
    ['all namespaces', 'holdfast-system', null],
    ['one namespace', 'trial', 'team'],
    ['a namespace that looks like a number', '007', '42'],
  ])('makes the objects that operator install prints, for %s', (_, namespace, watchNamespace) => {
    const values = { image: IMAGE, ...(watchNamespace === null ? {} : { watchNamespace }) };
    // Helm makes the namespace by itself.
    const printed = installObjects({ namespace, image: IMAGE, watchNamespace }).filter(({ kind }) => kind !== 'Namespace');
    expect(sorted(rendered(namespace, values))).toEqual(
      sorted(JSON.parse(JSON.stringify([...customResources(), ...printed])) as NewObject[]),
    );
  });

  it('adds the alerts that operator install --alerts prints, with the labels that Prometheus fills in', () => {
    const kinds = new Set(['PrometheusRule', 'ServiceMonitor']);
    const alerts = rendered('system', { image: IMAGE, alerts: 'true' }).filter(({ kind }) => kinds.has(kind));
    expect(sorted(alerts)).toEqual(sorted(JSON.parse(JSON.stringify(alertObjects('system'))) as NewObject[]));
  });

  it('refuses to install without an image, and says how to make one', () => {
    expect(() => rendered('system', {})).toThrow(/image: no image of the operator is published yet; npm run build:image/);
  });
});
