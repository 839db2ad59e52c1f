import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { NewObject } from '../../kube/api/api-object.ts';
import { at, fieldsOf, listAt, textAt } from '../../kube/objects/fields.ts';
import { JOB_KINDS } from '../kinds/table.ts';
import { customResources } from './job-definitions.ts';
import { manifestText } from './manifest-text.ts';
import { installObjects, uninstallObjects } from './objects.ts';
import { DEFAULT_NAMESPACE, type InstallOptions } from './options.ts';

const ALL: InstallOptions = { namespace: DEFAULT_NAMESPACE, image: 'registry.example.com/holdfast:1', watchNamespace: null };
const TRIAL: InstallOptions = { ...ALL, namespace: 'trial', watchNamespace: 'team' };
const nameOf = ({ kind, metadata }: NewObject): string => [kind, metadata.namespace, metadata.name].filter(Boolean).join(' ');

describe('the manifests of the operator', () => {
  it('come back from their YAML as they were', () => {
    const objects = [...installObjects(ALL), ...customResources()];
    const read = parseAllDocuments(manifestText(objects)).map((document) => document.toJSON() as unknown);
    expect(read).toEqual(JSON.parse(JSON.stringify(objects)));
  });

  it('run two replicas as an unprivileged user, with a root file system that nothing can write', () => {
    const deployed = installObjects(ALL).find(({ kind }) => kind === 'Deployment');
    expect(at(deployed, 'spec', 'replicas')).toBe(2);
    const pod = at(deployed, 'spec', 'template', 'spec');
    expect(at(pod, 'securityContext')).toMatchObject({ runAsNonRoot: true, runAsUser: 65_532, seccompProfile: { type: 'RuntimeDefault' } });
    const [container] = listAt(pod, 'containers');
    expect(at(container, 'securityContext')).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(listAt(container, 'args')).toContain('--leader-elect');
  });

  it('let the Service, the disruption budget and the policy find the pods of the Deployment', () => {
    const objects = installObjects(ALL);
    const labels = fieldsOf(at(kindOf(objects, 'Deployment'), 'spec', 'template', 'metadata', 'labels'));
    const selectors = [
      at(kindOf(objects, 'Service'), 'spec', 'selector'),
      at(kindOf(objects, 'PodDisruptionBudget'), 'spec', 'selector', 'matchLabels'),
      at(kindOf(objects, 'NetworkPolicy'), 'spec', 'podSelector', 'matchLabels'),
    ];
    for (const selector of selectors) expect(labels).toMatchObject(fieldsOf(selector));
  });

  it('enforce Pod Security only in a namespace that is certainly the operator’s own', () => {
    expect(at(installObjects(ALL)[0], 'metadata', 'labels')).toMatchObject({ 'pod-security.kubernetes.io/enforce': 'restricted' });
    expect(installObjects(TRIAL)[0]).toEqual({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'trial' } });
  });

  it('share no name without a namespace with those for another watched namespace', () => {
    const global = (options: InstallOptions): readonly string[] =>
      installObjects(options)
        .filter(({ kind, metadata }) => kind !== 'Namespace' && metadata.namespace === undefined)
        .map(nameOf);
    expect(global(ALL).filter((name) => global(TRIAL).includes(name))).toEqual([]);
  });
});

describe('what uninstall deletes', () => {
  it.each([ALL, TRIAL])('is what install made, the Deployment first, and never a namespace: %j', (options) => {
    const removed = uninstallObjects(options).map(nameOf);
    const made = installObjects(options).map(nameOf);
    expect(removed[0]).toMatch(/^Deployment /);
    expect(removed.toSorted()).toEqual(made.filter((name) => !name.startsWith('Namespace ')).toSorted());
  });

  it('is no custom resource, whose deletion would delete all jobs', () => {
    expect(uninstallObjects(ALL).map(({ kind }) => kind)).not.toContain('CustomResourceDefinition');
  });
});

describe('the custom resources', () => {
  it('are the kinds of the table and the TrainingRun, each far below the limit of client-side apply', () => {
    const names = customResources().map(({ metadata }) => metadata.name);
    expect(names).toEqual([...JOB_KINDS.map(({ resource }) => `${resource.plural}.kubeflow.org`), 'trainingruns.holdfast.dev']);
    for (const each of customResources()) expect(manifestText([each]).length).toBeLessThan(20_000);
  });

  it('have v1’s columns, and the scale of a PyTorchJob', () => {
    const [pytorch, tensorflow] = customResources().map((each) => listAt(each, 'spec', 'versions')[0]);
    for (const version of [pytorch, tensorflow]) {
      expect(listAt(version, 'additionalPrinterColumns').map((column) => textAt(column, 'name'))).toEqual(['State', 'Age']);
    }
    expect(at(pytorch, 'subresources', 'scale', 'specReplicasPath')).toBe('.spec.pytorchReplicaSpecs.Worker.replicas');
    expect(at(tensorflow, 'subresources')).toEqual({ status: {} });
  });
});

function kindOf(objects: readonly NewObject[], kind: string): NewObject | undefined {
  return objects.find((object) => object.kind === kind);
}
