import type { WorkloadRule, World } from '../../engine/rule.ts';
import type { Flag } from '../../manifest/command.ts';
import { checkpointFolder, isSupervised, namesObjectStore, writableClaims } from '../../manifest/facts.ts';
import { nameOf } from '../../manifest/workload-names.ts';
import { get, numberAt, type YamlNode } from '../../manifest/yaml-node.ts';
import type { Workload } from '../../manifest/workload.ts';
import type { Span } from '../../source/source.ts';

const JOB = (flags: string, args = ''): string => `
apiVersion: batch/v1
kind: Job
spec:
  parallelism: 4
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: trainer
          command: [torchrun, ${flags}, --rdzv-id=a, --rdzv-backend=c10d, "--rdzv-endpoint=a-0.a:29400", train.py${args}]
`;

/** How many nodes may train together, and who says so. */
export interface Elastic {
  readonly least: number;
  readonly most: number;
  readonly at: Span;
}

/**
 * A training that goes on with fewer nodes, by an option of torchrun or the policy of a PyTorchJob;
 * also with the options that torchrun does not have.
 */
export function elasticOf({ trainer, object }: Workload): Elastic | null {
  const flags = trainer?.command.torchrun?.flags ?? [];
  return byRange(flags) ?? byBounds(flags) ?? (object.kind === 'PyTorchJob' ? byPolicy(get(object.root, 'spec', 'elasticPolicy')) : null);
}

function byRange(flags: readonly Flag[]): Elastic | null {
  const nodes = flags.find(({ name }) => name === 'nnodes');
  const [, least, most] = /^(\d+):(\d+)$/.exec(nodes?.value ?? '') ?? [];
  return nodes === undefined ? null : ranging(Number(least), Number(most), spanOf(nodes));
}

function byBounds(flags: readonly Flag[]): Elastic | null {
  const [least, most] = ['min-nodes', 'max-nodes'].map((wanted) => flags.find(({ name }) => name === wanted));
  if (least === undefined || most === undefined) return null;
  return ranging(Number(least.value), Number(most.value), spanOf(most));
}

function byPolicy(policy: YamlNode | null): Elastic | null {
  const [least, most] = [numberAt(policy, 'minReplicas'), numberAt(policy, 'maxReplicas')];
  return policy === null || least === null || most === null ? null : ranging(least, most, policy);
}

function ranging(least: number, most: number, { from, to }: Span): Elastic | null {
  return least > 0 && most > least ? { least, most, at: { from, to } } : null;
}

function spanOf({ words }: Flag): Span {
  return { from: words[0]?.from ?? 0, to: words.at(-1)?.to ?? 0 };
}

/** A lost node is a failure of the others, which torchrun does not survive by itself. */
export const elasticWithoutRestarts: WorkloadRule = {
  code: 'ELASTIC_WITHOUT_RESTARTS',
  readsFragments: true,
  severity: 'warning',
  on: 'workload',
  title: 'An elastic training ends with the first node that it loses',
  why: 'When a node goes away, the collectives of the other nodes fail. torchrun starts failed workers again `--max-restarts` times, and that is 0 by default. So the agents of the remaining nodes end too, and nothing goes on with fewer nodes. Only a node that arrives restarts the workers for free.',
  fix: 'Set --max-restarts (maxRestarts of an elasticPolicy) to the interruptions that you expect, or put `holdfast run --` before torchrun.',
  bad: { manifest: JOB('"--nnodes=2:4"', ', --checkpoint-dir=/ckpt') },
  good: { manifest: JOB('"--nnodes=2:4", --max-restarts=5', ', --checkpoint-dir=/ckpt') },
  check(workload) {
    const elastic = elasticOf(workload);
    if (elastic === null || isSupervised(workload) || restartsOf(workload) !== 0) return [];
    const { least, most, at } = elastic;
    const message = `${nameOf(workload)} is to train with ${least} to ${most} nodes, but torchrun restarts its workers 0 times: the loss of one node ends it.`;
    return [{ at, message }];
  },
};

/** How often workers are started again; null where it cannot be seen. */
function restartsOf({ trainer, object }: Workload): number | null {
  const written = trainer?.command.torchrun?.flags.find(({ name }) => name === 'max-restarts')?.value;
  if (written !== undefined) return written === null || !/^\d+$/.test(written) ? null : Number(written);
  if (trainer?.envNames.has('PET_MAX_RESTARTS') === true || trainer?.hasEnvFrom === true) return null;
  return object.kind === 'PyTorchJob' ? (numberAt(object.root, 'spec', 'elasticPolicy', 'maxRestarts') ?? 0) : 0;
}

/** Progress goes back to the last checkpoint, with new ranks. */
export const elasticWithoutCheckpoint: WorkloadRule = {
  code: 'ELASTIC_WITHOUT_CHECKPOINT',
  readsFragments: true,
  severity: 'warning',
  on: 'workload',
  title: 'An elastic training has no checkpoint to go back to',
  why: 'No worker goes on when the number of nodes changes. torchrun kills all of them, and starts them again with new ranks and a new world size. They go on from the last checkpoint, and from the beginning without one: after each lost node, and also after each node that joins.',
  fix: 'Pass the script a folder on a volume for its checkpoints, and resume from it; or put `holdfast run --` before torchrun.',
  bad: { manifest: JOB('"--nnodes=2:4", --max-restarts=5') },
  good: { manifest: JOB('"--nnodes=2:4", --max-restarts=5', ', --checkpoint-dir=/ckpt') },
  check(workload, world) {
    const elastic = elasticOf(workload);
    if (elastic === null || isSupervised(workload) || knowsCheckpoints(workload, world)) return [];
    const message = `${nameOf(workload)}: each node that leaves or joins restarts all workers, and this command names no checkpoint for them to go on from.`;
    return [{ at: elastic.at, message }];
  },
};

const OF_CHECKPOINTS = /ckpt|checkpoint|snapshot|resume|output|save|run[-_]?dir|log[-_]?dir|config|\.ya?ml|\.toml|\.json/i;

/** The command, the environment, a volume or the script may say where checkpoints are. */
function knowsCheckpoints(workload: Workload, world: World): boolean {
  const { trainer } = workload;
  if (trainer === null || world.scriptOf(workload) !== null || trainer.hasEnvFrom) return true;
  if (checkpointFolder(workload) !== null || namesObjectStore(workload) || writableClaims(workload).length > 0) return true;
  return [...trainer.command.trainerArgs.map(({ text }) => text), ...trainer.envNames].some((word) => OF_CHECKPOINTS.test(word));
}
