import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { ROOT } from '../../support/run-process.ts';
import { findFacility } from '../cluster/facility.ts';

/** One executable in an image without Node, or the repository mounted into the pod. */
export type Form = 'binary' | 'tree';
/**
 * `bare` traps SIGTERM, saves and exits with 0, as many trainers do. `untrapped` has no handler for
 * it.
 */
export type Control = 'bare' | 'untrapped';
/**
 * A form runs the trainer under `holdfast run`. `stubborn` ignores SIGTERM until it is killed, and
 * measures how long that takes.
 */
export type Manner = Form | Control | 'stubborn';

/** Keeps an ended pod until the test has read it. */
export const FINALIZER = 'holdfast.test/looked-at';
/** The label of nodes that are reserved for some runs. */
export const POOL = 'holdfast.test/pool';
export const TRAINER = join(ROOT, 'test/kubernetes/trainers/train.py');
/** A kubelet with this setting runs one pod at a time. */
export const ONE_POD = { maxPods: 1 };

/** The grace of the example, which it also passes to the supervisor. */
export const GRACE_SECONDS = 120;
/** The grace of pods that the test lets run until they are killed. */
export const STUBBORN_GRACE_SECONDS = 12;
const UNTRAPPED_GRACE_SECONDS = 2;
const REPOSITORY = ROOT.replace(/\/$/, '');
export const MANIFESTS = join(ROOT, 'examples/kubernetes');
const TREE = '/opt/tree';

/** The fields of a Job that the tests change. */
export interface Job {
  readonly metadata: object;
  readonly spec: Readonly<Record<string, unknown>> & {
    readonly template: Readonly<Record<string, unknown>> & {
      readonly spec: Readonly<Record<string, unknown>> & {
        readonly containers: readonly [{ readonly command: readonly string[]; readonly volumeMounts: readonly object[] }];
        readonly volumes: readonly ({ readonly name: string } & Readonly<Record<string, unknown>>)[];
      };
    };
  };
}

export interface TrainingJob {
  readonly name: string;
  readonly manner: Manner;
  /** The label of the nodes that it may use. */
  readonly pool: string;
  /** More fields for the Job and its pods. */
  readonly jobSpec?: Readonly<Record<string, unknown>> | undefined;
  readonly podSpec?: Readonly<Record<string, unknown>> | undefined;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  /** The size limit of its emptyDir at /tmp. */
  readonly tmpLimit?: string | undefined;
}

let kustomized: Job | null = null;

/** The published Job with its published patch. */
export function exampleJob(): Job {
  kustomized ??= parseAllDocuments(execFileSync(findFacility().program('kubectl'), ['kustomize', MANIFESTS], { encoding: 'utf8' }))
    .map((document) => document.toJS() as Job & { readonly kind: string })
    .find(({ kind }) => kind === 'Job') as Job;
  return kustomized;
}

/**
 * The example's Job with a run and nodes of its own. Without a supervisor, its command and its
 * grace differ.
 */
export function trainingJob({ name, manner, pool, jobSpec, podSpec, annotations, tmpLimit }: TrainingJob): Job {
  const job = exampleJob();
  const { template } = job.spec;
  const [container] = template.spec.containers;
  const volumes = template.spec.volumes.map((volume) =>
    volume.name === 'tmp' && tmpLimit !== undefined ? { name: 'tmp', emptyDir: { sizeLimit: tmpLimit } } : volume,
  );
  const isTree = manner === 'tree';
  return {
    ...job,
    metadata: { name },
    spec: {
      ...job.spec,
      ...jobSpec,
      template: {
        metadata: { finalizers: [FINALIZER], annotations },
        spec: {
          ...template.spec,
          ...graceOf(manner),
          nodeSelector: { [POOL]: pool },
          ...podSpec,
          containers: [
            {
              ...container,
              command: isSupervised(manner) ? supervised(container.command, name, manner) : [...trainerCommand(), manner, `/runs/${name}`],
              volumeMounts: [...container.volumeMounts, ...(isTree ? [{ name: 'tree', mountPath: TREE, readOnly: true }] : [])],
            },
          ],
          volumes: [...volumes, ...(isTree ? [{ name: 'tree', hostPath: { path: REPOSITORY } }] : [])],
        },
      },
    },
  };
}

function graceOf(manner: Manner): object {
  if (manner === 'stubborn') return { terminationGracePeriodSeconds: STUBBORN_GRACE_SECONDS };
  return manner === 'untrapped' ? { terminationGracePeriodSeconds: UNTRAPPED_GRACE_SECONDS } : {};
}

function supervised([program = '', ...words]: readonly string[], folder: string, form: Form): readonly string[] {
  return [form === 'tree' ? `${TREE}/bin/holdfast` : program, ...inFolder(words, folder)];
}

/** The same command with its run in that folder of the volume. */
export function inFolder(command: readonly string[], folder: string): readonly string[] {
  return command.map((word) => (word.startsWith('--dir=') ? `--dir=/runs/${folder}/run` : word));
}

/** The example's command for the trainer, without the supervisor. */
export function trainerCommand(): readonly string[] {
  const [{ command }] = exampleJob().spec.template.spec.containers;
  return command.slice(command.indexOf('--') + 1);
}

export function isSupervised(manner: Manner): manner is Form {
  return manner === 'tree' || manner === 'binary';
}
