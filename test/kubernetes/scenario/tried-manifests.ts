import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import type { Cluster } from '../cluster/cluster.ts';
import { PODS } from './objects.ts';

const TRIED = 'dryRun=All&fieldValidation=Strict';
const PATHS: Readonly<Record<string, string>> = {
  CronJob: '/apis/batch/v1/namespaces/default/cronjobs',
  Job: '/apis/batch/v1/namespaces/default/jobs',
  PyTorchJob: '/apis/kubeflow.org/v1/namespaces/default/pytorchjobs',
  Service: '/api/v1/namespaces/default/services',
};

interface PodTemplate {
  readonly metadata?: object;
  readonly spec: object;
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly template?: PodTemplate;
    readonly jobTemplate?: { readonly spec: { readonly template: PodTemplate } };
    readonly pytorchReplicaSpecs?: Readonly<Record<string, { readonly template: PodTemplate }>>;
  };
}

export function manifestsIn(path: string): readonly Manifest[] {
  return parseAllDocuments(readFileSync(path, 'utf8')).map((document) => document.toJS() as Manifest);
}

/** Asks the server to check the object without creating it. An unknown field is an error. */
export async function tryManifest(cluster: Cluster, manifest: Manifest): Promise<void> {
  const path = PATHS[manifest.kind];
  if (path === undefined) throw new Error(`it is not known where a ${manifest.kind} is made`);
  await cluster.api.create(`${path}?${TRIED}`, manifest);
}

/**
 * Checks each pod that the object describes, because the server does not check pods inside custom
 * kinds. Returns how many there were.
 */
export async function tryPods(cluster: Cluster, { metadata, spec }: Manifest): Promise<number> {
  const replicas = Object.values(spec.pytorchReplicaSpecs ?? {}).map(({ template }) => template);
  const templates = [spec.template, spec.jobTemplate?.spec.template, ...replicas].filter((template) => template !== undefined);
  for (const template of templates) {
    const pod = { apiVersion: 'v1', kind: 'Pod', ...template, metadata: { ...template.metadata, name: metadata.name } };
    await cluster.api.create(`${PODS}?${TRIED}`, pod);
  }
  return templates.length;
}
