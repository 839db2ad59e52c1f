import type { ObjectRule, WorkloadRule } from '../../engine/rule.ts';
import { replaceScalar, insertBefore } from '../../manifest/edit.ts';
import { isSupervised } from '../../manifest/facts.ts';
import { nameOf } from '../../manifest/workload-names.ts';
import { type Workload, workloadsOf } from '../../manifest/workload.ts';
import type { Edit } from '../../source/finding.ts';
import { entries, entryOf, get, items, numberAt, spanAt, textAt } from '../../manifest/yaml-node.ts';

const JOB = (policy: string, command: string): string => `
apiVersion: kubeflow.org/v1
kind: PyTorchJob
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
${policy}      template:
        spec:
          containers:
            - name: pytorch
              command: ${command}
`;

const AFTER: Readonly<Record<string, string>> = { Never: 'ends with the first eviction' };

/** Which policy starts a pod again after an interruption, and ends after an error. */
export const pytorchJobRestart: WorkloadRule = {
  code: 'PYTORCHJOB_RESTART_POLICY',
  readsFragments: true,
  severity: 'warning',
  on: 'workload',
  title: 'The restart policy of a PyTorchJob treats interruptions as errors',
  why: 'Under OnFailure (the default) and Always the kubelet restarts every failing container in place, after an error as after 143. It restarts only this pod, so its peers hang until their collective times out. Under Never the first eviction fails the whole job. ExitCode retries codes from 128 on, and fails the job at 1 to 127. `holdfast run` ends an interrupted attempt with 143.',
  fix: 'Set restartPolicy: ExitCode, and let the trainer end with 143 when it was interrupted, as `holdfast run` does.',
  bad: { manifest: JOB('      restartPolicy: OnFailure\n', '[holdfast, run, --, python, train.py]') },
  good: { manifest: JOB('      restartPolicy: ExitCode\n', '[holdfast, run, --, python, train.py]') },
  check(workload) {
    const { replica, object } = workload;
    if (replica === null || object.kind !== 'PyTorchJob') return [];
    const node = get(replica, 'restartPolicy');
    const policy = textAt(replica, 'restartPolicy') ?? 'OnFailure';
    if (policy === 'ExitCode' || (node === null && object.isFragment)) return [];
    const what = AFTER[policy] ?? 'restarts this pod alone after any exit code, 143 and errors alike, while its peers wait';
    const message = `${nameOf(workload)} has restartPolicy ${policy}${node === null ? ', the default' : ''}: it ${what}.`;
    return [{ at: spanAt(replica, 'restartPolicy'), message, edits: exitCodeInstead(workload) }];
  },
};

/** None for a bare torchrun: it makes 1 of a signal, which ExitCode takes for an error. */
function exitCodeInstead(workload: Workload): readonly Edit[] {
  const { replica, object, trainer } = workload;
  if (trainer?.command.launcher === 'torchrun' && !isSupervised(workload)) return [];
  const node = get(replica, 'restartPolicy');
  const before = entryOf(replica, 'template')?.key;
  if (node !== null) return [replaceScalar(node, 'ExitCode')];
  const entry = 'restartPolicy: ExitCode';
  return before === undefined || replica === null ? [] : insertBefore(replica, before, { block: [[0, entry]], flow: entry }, object.source);
}

/** torchrun ends with 1 after SIGTERM. */
export const pytorchJobTorchrun: WorkloadRule = {
  code: 'PYTORCHJOB_TORCHRUN_ENDS_WITH_1',
  readsFragments: true,
  severity: 'error',
  on: 'workload',
  title: 'Under ExitCode the first interruption of torchrun fails the job',
  why: 'On SIGTERM the agent of torchrun ends its workers, and then itself with an exception. The container ends with 1, whatever the exit codes of the workers were. The policy ExitCode treats 1 as an error of the trainer, and fails the job.',
  fix: 'Put `holdfast run --` before torchrun. It ends an interrupted attempt with 143.',
  bad: { manifest: JOB('      restartPolicy: ExitCode\n', '[torchrun, --nproc-per-node=4, train.py]') },
  good: { manifest: JOB('      restartPolicy: ExitCode\n', '[holdfast, run, --, torchrun, --nproc-per-node=4, train.py]') },
  check(workload) {
    const { replica, trainer } = workload;
    if (replica === null || trainer === null || textAt(replica, 'restartPolicy') !== 'ExitCode') return [];
    const { torchrun } = trainer.command;
    if (torchrun === null || isSupervised(workload)) return [];
    return [
      {
        at: torchrun.word,
        message: `${nameOf(workload)}: torchrun ends with 1 after SIGTERM, which restartPolicy ExitCode takes for an error that no retry fixes.`,
      },
    ];
  },
};

/** Without a Master the first worker that ends with 0 ends the job. */
export const pytorchJobOneWorkerEndsAll: ObjectRule = {
  code: 'PYTORCHJOB_ONE_WORKER_ENDS_ALL',
  severity: 'warning',
  on: 'object',
  title: 'One worker that exits with 0 completes the whole job',
  why: 'A PyTorchJob without a Master is Succeeded as soon as one worker exits with 0, and the other pods are cleaned up. A worker that handles SIGTERM and exits with 0 therefore completes the job with the training unfinished.',
  fix: 'End an interrupted worker with 143, as `holdfast run --` does.',
  bad: { manifest: JOB('      restartPolicy: ExitCode\n', '[python, train.py]').replace('Master', 'Worker') },
  good: { manifest: JOB('      restartPolicy: ExitCode\n', '[holdfast, run, --, python, train.py]').replace('Master', 'Worker') },
  check(object) {
    const { kind, root } = object;
    const specs = get(root, 'spec', 'pytorchReplicaSpecs');
    if (kind !== 'PyTorchJob' || get(specs, 'Master') !== null || get(specs, 'Worker') === null) return [];
    const [worker] = workloadsOf(object);
    // torchrun itself ends with 1 after SIGTERM.
    if (worker === undefined || isSupervised(worker) || worker.trainer?.command.torchrun != null) return [];
    const message = `${nameOf({ object, role: null })} has no Master: it is Succeeded as soon as one worker exits with 0, also after SIGTERM.`;
    return [{ at: spanAt(root, 'spec', 'pytorchReplicaSpecs', 'Worker'), message }];
  },
};

/** What the webhook of the Training Operator refuses. */
export const pytorchJobInvalid: ObjectRule = {
  code: 'PYTORCHJOB_REFUSED',
  severity: 'error',
  on: 'object',
  title: 'The Training Operator refuses this PyTorchJob',
  why: 'Its webhook requires exactly one Master, at least one Worker with an elasticPolicy, and in every replica a container with the name `pytorch` that has an image.',
  fix: 'Name the container that trains `pytorch`, and give the Master one replica.',
  bad: { manifest: JOB('', '[python, train.py]').replace('name: pytorch', 'name: trainer') },
  good: { manifest: JOB('', '[python, train.py]') },
  check({ kind, root, name }) {
    if (kind !== 'PyTorchJob') return [];
    const specs = entries(get(root, 'spec', 'pytorchReplicaSpecs'));
    return specs.flatMap(({ key, value }) => {
      const containers = items(get(value, 'template', 'spec', 'containers'));
      const of = `PyTorchJob${name === null ? '' : ` ${name}`}`;
      if (key.text !== 'Master' && key.text !== 'Worker')
        return [{ at: key, message: `${of}: a replica is Master or Worker, not ${key.text}.` }];
      if (containers.length > 0 && !containers.some((one) => textAt(one, 'name') === 'pytorch')) {
        return [{ at: key, message: `${of}: ${key.text} has no container with the name pytorch.` }];
      }
      const replicas = numberAt(value, 'replicas');
      if (value !== null && key.text === 'Master' && replicas !== null && replicas !== 1)
        return [{ at: spanAt(value, 'replicas'), message: `${of}: there is exactly one Master, not ${replicas}.` }];
      return [];
    });
  },
};
