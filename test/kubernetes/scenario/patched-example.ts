import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parse, stringify } from 'yaml';
import { tempFolder } from '../../support/temp-folder.ts';
import { findFacility } from '../cluster/facility.ts';
import { FINALIZER, type Job, MANIFESTS, inFolder } from './training-job.ts';

/** The fields of a CronJob that the tests change. */
export interface CronJob {
  readonly metadata: object;
  readonly spec: Readonly<Record<string, unknown>> & { readonly jobTemplate: Pick<Job, 'spec'> };
}

/** A published example with its published patch: the result of `kubectl apply -k`, nothing else. */
export function patchedExample(file: string): unknown {
  using folder = tempFolder();
  const placeOf = (path: string): string => relative(folder.path, join(MANIFESTS, path));
  const kustomization = {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    resources: [placeOf(file)],
    components: [placeOf('local')],
  };
  writeFileSync(join(folder.path, 'kustomization.yaml'), stringify(kustomization));
  const line = ['kustomize', '--load-restrictor=LoadRestrictionsNone', folder.path];
  return parse(execFileSync(findFacility().program('kubectl'), line, { encoding: 'utf8' }));
}

/**
 * A Job's spec with its run in that folder of the volume. Its pods stay until the test has read
 * them.
 */
export function lookedAt({ template, ...spec }: Job['spec'], folder: string): Job['spec'] {
  const [container] = template.spec.containers;
  return {
    ...spec,
    template: {
      ...template,
      metadata: { finalizers: [FINALIZER] },
      spec: { ...template.spec, containers: [{ ...container, command: inFolder(container.command, folder) }] },
    },
  };
}
