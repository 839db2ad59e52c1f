import type { Hit } from '../../source/finding.ts';
import type { WorkloadRule } from '../../engine/rule.ts';
import { didYouMeanFlag, isTorchrunFlag } from '../../manifest/torchrun-flags.ts';
import type { Flag } from '../../manifest/command.ts';
import { graceSeconds, isSupervised } from '../../manifest/facts.ts';
import { nameOf } from '../../manifest/workload-names.ts';
import { numberAt } from '../../manifest/yaml-node.ts';
import type { Workload } from '../../manifest/workload.ts';

const JOB = (command: string, more = ''): string => `
apiVersion: batch/v1
kind: Job
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: trainer
          command: ${command}
${more}`;

function flagsOf({ trainer }: Workload): readonly Flag[] {
  return trainer?.command.torchrun?.flags ?? [];
}

function flag(workload: Workload, name: string): Flag | undefined {
  return flagsOf(workload).find((one) => one.name === name);
}

function spanOf({ words }: Flag): Hit['at'] {
  const [first] = words;
  return { from: first?.from ?? 0, to: words.at(-1)?.to ?? 0 };
}

/** An option that torchrun does not have ends it at once. */
export const torchrunUnknownOption: WorkloadRule = {
  code: 'TORCHRUN_UNKNOWN_OPTION',
  readsFragments: true,
  severity: 'error',
  on: 'workload',
  title: 'torchrun has no such option',
  why: '`torchrun` refuses unknown options, and ends with 2 before anything trains. There is no `--min-nodes` and no `--max-nodes`: an elastic job is `--nnodes=MIN:MAX`. Whatever the number of nodes, a lost one means that all surviving workers are killed and start again from the last checkpoint.',
  fix: 'Use the options of torchrun: --nnodes=2:4 for 2 to 4 nodes.',
  bad: { manifest: JOB('[torchrun, --min-nodes=2, --max-nodes=4, --nproc-per-node=4, train.py]') },
  good: { manifest: JOB('[torchrun, --nnodes=1, --nproc-per-node=4, train.py]') },
  check(workload) {
    const unknown = flagsOf(workload).filter(({ name }) => !isTorchrunFlag(name));
    const [least, most] = [flag(workload, 'min-nodes'), flag(workload, 'max-nodes')];
    return unknown.map((one): Hit => {
      const message = `${nameOf(workload)}: torchrun has no option ${one.written}${didYouMeanFlag(one.name)}, and ends before anything trains.`;
      const canFix =
        one === least && most !== undefined && workload.trainer?.command.shell === null && flag(workload, 'nnodes') === undefined;
      if (!canFix || least.words.length !== 1 || most.words.length !== 1) return { at: spanOf(one), message };
      const range = `--nnodes=${least.value}:${most.value}`;
      const { source } = workload.object;
      return { at: spanOf(one), message, edits: [{ ...spanOf(least), text: range }, removal(source, spanOf(most))] };
    });
  },
};

/** Takes an item out of a list, with its dash or its comma. */
function removal(source: string, { from, to }: Hit['at']) {
  const line = source.lastIndexOf('\n', from - 1) + 1;
  if (/^[ \t]*-[ \t]+$/.test(source.slice(line, from))) {
    const end = source.indexOf('\n', to);
    return { from: line, to: end < 0 ? source.length : end + 1, text: '' };
  }
  const comma = /^\s*,\s*/.exec(source.slice(to));
  return { from, to: to + (comma?.[0].length ?? 0), text: '' };
}

/** Without its own id a job can meet another one at the same endpoint. */
export const torchrunNoRdzvId: WorkloadRule = {
  code: 'TORCHRUN_NO_RDZV_ID',
  readsFragments: true,
  severity: 'warning',
  on: 'workload',
  title: 'torchrun has a rendezvous without an id',
  why: 'Nodes meet under the id of the job. Without `--rdzv-id` every job has the id `none`. Two jobs at one endpoint become one gang, and so do the old pods of one attempt and the new pods of the next.',
  fix: 'Add --rdzv-id with the name of the job.',
  bad: { manifest: JOB('[torchrun, --nnodes=2, --rdzv-backend=c10d, "--rdzv-endpoint=train-0.train:29400", train.py]') },
  good: { manifest: JOB('[torchrun, --nnodes=2, --rdzv-id=train, --rdzv-backend=c10d, "--rdzv-endpoint=train-0.train:29400", train.py]') },
  check(workload) {
    const backend = flag(workload, 'rdzv-backend');
    if (backend === undefined || backend.value === 'static' || flag(workload, 'rdzv-id') !== undefined) return [];
    if (workload.trainer?.envNames.has('PET_RDZV_ID') === true) return [];
    return [
      {
        at: spanOf(backend),
        message: `${nameOf(workload)}: torchrun meets its peers under the id none, which every job without --rdzv-id has.`,
      },
    ];
  },
};

/** The etcd backends need a server. */
export const torchrunEtcd: WorkloadRule = {
  code: 'TORCHRUN_ETCD',
  readsFragments: true,
  severity: 'error',
  on: 'workload',
  title: 'torchrun uses an etcd that nothing runs',
  why: 'The backends etcd and etcd-v2 need an etcd server with the API of version 2, which current releases do not have, and nothing in these manifests starts one. The nodes wait until the rendezvous times out. c10d needs no other server.',
  fix: 'Use --rdzv-backend=c10d with the address of the first pod and a port such as 29400.',
  bad: { manifest: JOB('[torchrun, --nnodes=2, --rdzv-id=a, --rdzv-backend=etcd, "--rdzv-endpoint=etcd:2379", train.py]') },
  good: { manifest: JOB('[torchrun, --nnodes=2, --rdzv-id=a, --rdzv-backend=c10d, "--rdzv-endpoint=train-0.train:29400", train.py]') },
  check(workload, world) {
    const backend = flag(workload, 'rdzv-backend');
    if (backend === undefined || backend.value?.startsWith('etcd') !== true) return [];
    const servers = ['Deployment', 'StatefulSet', 'Pod', 'Service'].flatMap((kind) => world.ofKind(kind));
    if (servers.some(({ name }) => name?.includes('etcd') === true)) return [];
    const endpoint = flag(workload, 'rdzv-endpoint')?.value ?? 'the endpoint';
    return [
      {
        at: spanOf(backend),
        message: `${nameOf(workload)}: nothing here runs an etcd at ${endpoint}, and the backend needs one with the API of version 2.`,
      },
    ];
  },
};

/** Restarts inside of torchrun multiply those of the Job. */
export const torchrunMaxRestarts: WorkloadRule = {
  code: 'TORCHRUN_RESTARTS_ABOVE_BUDGET',
  readsFragments: true,
  severity: 'warning',
  on: 'workload',
  title: 'torchrun restarts its workers more often than the Job allows',
  why: 'Each pod may restart its workers --max-restarts times before the Job sees one failure. An error that no restart fixes is repeated (backoffLimit + 1) × (max-restarts + 1) times, on accelerators that you pay for.',
  fix: 'Set --max-restarts to at most backoffLimit, or leave it out.',
  bad: { manifest: JOB('[torchrun, --max-restarts=100, train.py]').replace('spec:\n', 'spec:\n  backoffLimit: 3\n') },
  good: { manifest: JOB('[torchrun, --max-restarts=2, train.py]').replace('spec:\n', 'spec:\n  backoffLimit: 3\n') },
  check(workload) {
    const restarts = flag(workload, 'max-restarts');
    const count = Number(restarts?.value ?? 0);
    if (restarts === undefined || !Number.isInteger(count) || workload.job === null) return [];
    const { setting, budget } = budgetOf(workload);
    if (!(count > budget)) return [];
    const message = `${nameOf(workload)}: --max-restarts=${count} is above ${setting} ${budget}: an error is repeated ${(budget + 1) * (count + 1)} times before the Job fails.`;
    return [{ at: spanOf(restarts), message }];
  },
};

/** How many errors the run may make; in a part of a manifest any number, if it does not say. */
function budgetOf({ trainer, job, object }: Workload): { readonly setting: string; readonly budget: number } {
  const own = trainer?.command.supervisor?.options.get('restarts')?.value;
  if (own !== undefined) return { setting: '--restarts', budget: Number(own) };
  return { setting: 'backoffLimit', budget: numberAt(job, 'backoffLimit') ?? (object.isFragment ? Number.POSITIVE_INFINITY : 6) };
}

/** The agent of torchrun kills workers after 30 s, whatever the pod has left. */
export const launcherKillsFirst: WorkloadRule = {
  code: 'LAUNCHER_KILLS_FIRST',
  severity: 'warning',
  on: 'workload',
  title: 'torchrun kills the workers before the grace is over',
  why: 'The agent of torchrun forwards SIGTERM to its workers, and kills them 30 s later, however long the grace of the pod is. A longer save is cut. TORCH_ELASTIC_SHUTDOWN_TIMEOUT changes that in newer versions of PyTorch; `holdfast run` sets it by itself.',
  fix: 'Set TORCH_ELASTIC_SHUTDOWN_TIMEOUT to the grace less a few seconds, or put `holdfast run --` before torchrun.',
  bad: {
    manifest: JOB('[torchrun, --nproc-per-node=8, train.py]').replace(
      'restartPolicy',
      'terminationGracePeriodSeconds: 300\n      restartPolicy',
    ),
  },
  good: {
    manifest: JOB(
      '[torchrun, --nproc-per-node=8, train.py]',
      '          env: [{ name: TORCH_ELASTIC_SHUTDOWN_TIMEOUT, value: "290" }]\n',
    ).replace('restartPolicy', 'terminationGracePeriodSeconds: 300\n      restartPolicy'),
  },
  check(workload) {
    const { trainer, pod } = workload;
    const grace = graceSeconds(pod);
    if (trainer === null || trainer.command.torchrun === null || isSupervised(workload) || grace <= 30) return [];
    if (trainer.envNames.has('TORCH_ELASTIC_SHUTDOWN_TIMEOUT') || trainer.hasEnvFrom) return [];
    return [
      {
        at: trainer.command.torchrun.word,
        message: `${nameOf(workload)} has ${grace} s of grace, but torchrun kills its workers 30 s after SIGTERM.`,
      },
    ];
  },
};
