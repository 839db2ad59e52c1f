import type { WorkloadRule } from '../../engine/rule.ts';
import type { Hit } from '../../source/finding.ts';
import { nameOf } from '../../manifest/workload-names.ts';
import { numberAt, textAt } from '../../manifest/yaml-node.ts';
import type { Workload } from '../../manifest/workload.ts';

const JOB = (args: string, nodes = '2'): string => `
apiVersion: kubeflow.org/v1
kind: PyTorchJob
spec:
  nprocPerNode: "4"
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      restartPolicy: OnFailure
      template:
        spec:
          containers:
            - name: pytorch
              image: trainer
              command: [torchrun, "--nnodes=${nodes}", "--node-rank=$(RANK)", --nproc-per-node=4, train.py${args}]
`;

const VARIABLE = /\$[({]?(RANK|WORLD_SIZE)[)}]?(?!\w)/;

/**
 * The variables of the Training Operator count pods, and torchrun starts several processes in each.
 */
export const rankOfPod: WorkloadRule = {
  code: 'RANK_COUNTS_PODS',
  severity: 'error',
  on: 'workload',
  title: 'RANK or WORLD_SIZE of the container is passed on as that of a process',
  why: 'In the containers of a PyTorchJob `RANK` is the number of the pod, and `WORLD_SIZE` counts pods, unless nprocPerNode is a whole number that multiplies it. torchrun starts several processes in each pod, and gives each process its own RANK and WORLD_SIZE. An argument from the manifest has the value of the pod, which is the same for all processes in it: they write one file, or wait for ranks that do not exist.',
  fix: 'Leave the argument out and read RANK and WORLD_SIZE in the script. For torchrun use --node-rank=$(RANK), and write the number of pods into --nnodes.',
  bad: { manifest: JOB(', "--rank=$(RANK)", "--world-size=$(WORLD_SIZE)"') },
  good: { manifest: JOB(', --epochs=5') },
  check(workload) {
    const { object, trainer } = workload;
    if (object.kind !== 'PyTorchJob' || trainer === null || trainer.command.torchrun === null) return [];
    return [...ofTrainer(workload), ...ofNodes(workload)];
  },
};

/** Arguments of the script. */
function ofTrainer(workload: Workload): readonly Hit[] {
  const { command } = workload.trainer ?? {};
  const perNode = command?.torchrun?.flags.find(({ name }) => name === 'nproc-per-node')?.value ?? '1';
  if (command === undefined || perNode === '1') return [];
  return command.trainerArgs.flatMap((word): Hit[] => {
    const [, name] = VARIABLE.exec(word.text) ?? [];
    if (name === undefined || /node|pod/i.test(word.text)) return [];
    const message = `${nameOf(workload)}: ${name} is that of the pod here, the same for all ${perNode} processes that torchrun starts in it.`;
    return [{ at: word, message }];
  });
}

/** `--nnodes=$(WORLD_SIZE)`, where that is multiplied by the processes of a pod. */
function ofNodes(workload: Workload): readonly Hit[] {
  const { root } = workload.object;
  const written = numberAt(root, 'spec', 'nprocPerNode') ?? Number(textAt(root, 'spec', 'nprocPerNode') ?? Number.NaN);
  const nodes = workload.trainer?.command.torchrun?.flags.find(({ name }) => name === 'nnodes');
  const [word] = nodes?.words ?? [];
  if (word === undefined || !(written > 1) || VARIABLE.exec(nodes?.value ?? '')?.[1] !== 'WORLD_SIZE') return [];
  return [{ at: word, message: `${nameOf(workload)}: WORLD_SIZE is the number of pods times nprocPerNode ${written}, not of nodes.` }];
}
