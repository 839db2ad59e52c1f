import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { ROOT } from '../../support/run-process.ts';
import { findFacility } from '../cluster/facility.ts';

/** One executable in an image without Node, or the repository mounted into the pod. */
export type Form = 'binary' | 'tree';
/** `bare` traps SIGTERM, saves and exits with 0, as people write it; `untrapped` does nothing about it, as others write it. */
export type Control = 'bare' | 'untrapped';
/** The forms are the same trainer under `holdfast run`; `stubborn` stays until it is killed, and measures how long that takes. */
export type Manner = Form | Control | 'stubborn';

/** Keeps a pod that has ended until the test has looked at it. */
export const FINALIZER = 'holdfast.test/looked-at';
export const GPU = 'nvidia.com/gpu';
/** The label of the nodes that some runs have for themselves. */
export const POOL = 'holdfast.test/pool';
export const TRAINER = join(ROOT, 'test/kubernetes/trainers/train.py');

/** As the example has it, and tells the supervisor. */
export const GRACE_SECONDS = 120;
/** Of those that are killed when it is over, which is waited for. */
export const STUBBORN_GRACE_SECONDS = 12;
const UNTRAPPED_GRACE_SECONDS = 2;
const REPOSITORY = ROOT.replace(/\/$/, '');
const MANIFESTS = join(ROOT, 'test/kubernetes/job');
const TREE = '/opt/tree';

/** As much of a Job as is changed here. */
export interface Job {
  readonly metadata: object;
  readonly spec: Readonly<Record<string, unknown>> & {
    readonly template: Readonly<Record<string, unknown>> & {
      readonly spec: {
        readonly containers: readonly [{ readonly command: readonly string[]; readonly volumeMounts: readonly object[] }];
        readonly volumes: readonly ({ readonly name: string } & Readonly<Record<string, unknown>>)[];
      };
    };
  };
}

export interface TrainingJob {
  readonly name: string;
  readonly manner: Manner;
  /** Whose nodes it may run on; null: any. */
  readonly pool: string | null;
  /** The folder below the volume that it has to itself; its name, where nothing else is said. */
  readonly folder?: string;
  /** More fields of the Job, and of its pods. */
  readonly jobSpec?: Readonly<Record<string, unknown>> | undefined;
  readonly podSpec?: Readonly<Record<string, unknown>> | undefined;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  /** The most that its emptyDir at /tmp may hold. */
  readonly tmpLimit?: string | undefined;
}

let kustomized: Job | null = null;

/** The Job that users copy, with the published patch and the one of these tests. */
function exampleJob(): Job {
  kustomized ??= parseAllDocuments(execFileSync(findFacility().program('kubectl'), ['kustomize', MANIFESTS], { encoding: 'utf8' }))
    .map((document) => document.toJS() as Job & { readonly kind: string })
    .find(({ kind }) => kind === 'Job') as Job;
  return kustomized;
}

/** The example's Job, which differs by manner only in its command and its grace. */
export function trainingJob({ name, manner, pool, folder = name, jobSpec, podSpec, annotations, tmpLimit }: TrainingJob): Job {
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
          ...(pool === null ? {} : { nodeSelector: { [POOL]: pool } }),
          ...podSpec,
          containers: [
            {
              ...container,
              command: commandOf(container.command, folder, manner),
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

function commandOf(example: readonly string[], folder: string, manner: Manner): readonly string[] {
  const begin = example.indexOf('--') + 1;
  const trainer = example.slice(begin);
  const told = (how: string): readonly string[] => [...trainer, how, `/runs/${folder}`, '/tmp'];
  if (!isSupervised(manner)) return told(manner);
  const [program = '', ...options] = example.slice(0, begin);
  const own = options.map((option) => (option.startsWith('--dir=') ? `--dir=/runs/${folder}/run` : option));
  return [manner === 'tree' ? `${TREE}/bin/holdfast` : program, ...own, ...told('sdk')];
}

export function isSupervised(manner: Manner): manner is Form {
  return manner === 'tree' || manner === 'binary';
}
