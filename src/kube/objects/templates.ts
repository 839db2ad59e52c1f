import { type Fields, at, fieldsOf, textAt } from './fields.ts';
import type { KubeObject } from './object.ts';
import { type PodSpec, podSpecOf } from './pod-spec.ts';

/** The pods that an object creates. A PyTorchJob has one template for each replica type. */
export interface PodTemplate {
  /** `Worker`; null if there is only one. */
  readonly role: string | null;
  readonly spec: PodSpec;
  readonly annotations: ReadonlyMap<string, string>;
}

const REPLICA_FIELDS = ['pytorchReplicaSpecs', 'tfReplicaSpecs', 'mpiReplicaSpecs', 'paddleReplicaSpecs', 'xgbReplicaSpecs'] as const;

/** The pod templates of a controller; the spec itself of a pod; none for other kinds. */
export function templatesOf({ kind, fields, annotations }: KubeObject): readonly PodTemplate[] {
  const spec = at(fields, 'spec');
  if (kind === 'Pod') return [{ role: null, spec: podSpecOf(spec), annotations }];
  if (kind === 'CronJob') return templateIn(at(spec, 'jobTemplate', 'spec'), null);
  if (kind === 'JobSet') return jobSetTemplates(spec);
  const replicas = REPLICA_FIELDS.flatMap((name) => Object.entries(fieldsOf(at(spec, name))));
  if (replicas.length > 0) return replicas.flatMap(([role, replica]) => templateIn(replica, role));
  return templateIn(spec, null);
}

function jobSetTemplates(spec: unknown): readonly PodTemplate[] {
  const jobs = at(spec, 'replicatedJobs');
  const list: readonly unknown[] = Array.isArray(jobs) ? jobs : [];
  return list.flatMap((job) => templateIn(at(job, 'template', 'spec'), textAt(job, 'name')));
}

function templateIn(holder: unknown, role: string | null): readonly PodTemplate[] {
  const template: Fields = fieldsOf(at(holder, 'template'));
  if (at(template, 'spec', 'containers') === undefined) return [];
  const annotations = fieldsOf(at(template, 'metadata', 'annotations'));
  const texts = Object.entries(annotations).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return [{ role, spec: podSpecOf(template['spec']), annotations: new Map(texts) }];
}
