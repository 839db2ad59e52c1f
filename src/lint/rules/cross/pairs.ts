import type { Hit } from '../../source/finding.ts';
import type { Word } from '../../manifest/word.ts';
import type { PairRule } from '../../engine/rule.ts';
import {
  checkpointFolder,
  graceSeconds,
  isSupervised,
  mountOf,
  namesObjectStore,
  policyRules,
  trains,
  volumeOf,
} from '../../manifest/facts.ts';
import { nameOf } from '../../manifest/workload-names.ts';
import { elasticOf } from '../manifest/elastic.ts';
import { get, textAt } from '../../manifest/yaml-node.ts';
import { argumentOf, textsOf } from '../../script/resolve.ts';
import { hasOwnSaving, savesOf, usesHoldfast } from '../../script/saves.ts';
import type { Script } from '../../script/script.ts';
import { handlersOf } from '../../script/signals.ts';

const JOB = (args = '', pod = '', policy = ''): string => `
apiVersion: batch/v1
kind: Job
spec:
${policy}  template:
    spec:
      restartPolicy: Never
${pod}      containers:
        - name: trainer
          command: [python, train.py${args}]
          volumeMounts: [{ name: runs, mountPath: /runs }]
      volumes: [{ name: runs, persistentVolumeClaim: { claimName: runs } }]
`;

const SCRIPT = (path: string): string => `
import torch
for step, batch in enumerate(loader):
    model(batch).backward()
    torch.save(model.state_dict(), "${path}")
`;

/** The script saves into the container. */
export const scriptFolderNotMounted: PairRule = {
  code: 'SCRIPT_FOLDER_NOT_MOUNTED',
  severity: 'error',
  on: 'pair',
  title: 'The folder that the script saves to is on no volume',
  why: 'The script saves to a path without a volume, or to an emptyDir. What it saves is deleted with the pod, and the next attempt finds nothing.',
  fix: 'Mount the volume at that path, or pass the script the path of the volume.',
  bad: { manifest: JOB(), script: SCRIPT('/checkpoints/latest.pt') },
  good: { manifest: JOB(), script: SCRIPT('/runs/latest.pt') },
  check(workload, script) {
    const { trainer, pod } = workload;
    if (
      trainer === null ||
      !trains(workload) ||
      isSupervised(workload) ||
      checkpointFolder(workload) !== null ||
      namesObjectStore(workload)
    )
      return [];
    const paths = savesOf(script).flatMap((save) => save.paths.map((path) => overridden(script, workload.trainer?.env ?? new Map(), path)));
    const known = paths.filter((path) => path.startsWith('/') && !/^\/(?:tmp|dev)\//.test(path));
    const lost = known.find((path) => {
      const mount = mountOf(trainer, folderOf(path));
      const volume = mount === null ? null : volumeOf(pod, mount.volume);
      return mount === null || (volume?.kind === 'map' && volume.entries.has('emptyDir'));
    });
    const at = trainer.command.words.find((word) => word.text.endsWith('.py')) ?? trainer.command.words[0];
    if (lost === undefined || at === undefined) return [];
    return [
      { at, message: `${nameOf(workload)}: ${script.path} saves to ${folderOf(lost)}, where no volume is mounted that outlives the pod.` },
    ];
  },
};

/** A default that comes from the environment is what the manifest sets, where it sets it. */
function overridden(script: Script, env: ReadonlyMap<string, string>, path: string): string {
  for (const call of script.calls) {
    if (call.callee !== 'os.environ.get' && call.callee !== 'os.getenv') continue;
    const [name, fallback] = [call.args[0], call.args[1]];
    const set = name === undefined ? undefined : env.get(script.textOf(name).replaceAll(/["']/g, ''));
    const before = fallback === undefined ? undefined : textsOf(script, fallback)[0];
    if (set !== undefined && before !== undefined && path.startsWith(before)) return set + path.slice(before.length);
  }
  return path;
}

function folderOf(path: string): string {
  const known = path.split('{')[0] ?? '';
  return known.slice(0, Math.max(1, known.lastIndexOf('/')));
}

/** A resume that the manifest does not request. */
export const resumeNotPassed: PairRule = {
  code: 'RESUME_ARGUMENT_NOT_PASSED',
  severity: 'error',
  on: 'pair',
  title: 'The script can resume, and the manifest does not ask for it',
  why: 'The script resumes only with an option that the command in the manifest does not have. Every pod that replaces an interrupted one starts from the beginning.',
  fix: 'Pass the option, or let the script resume by itself if a checkpoint exists. `holdfast run --resume-arg` passes it only then.',
  bad: {
    manifest: JOB(),
    script:
      '\nimport argparse, torch\nparser = argparse.ArgumentParser()\nparser.add_argument("--resume", default=None)\nargs = parser.parse_args()\nif args.resume:\n    torch.load(args.resume)\n',
  },
  good: {
    manifest: JOB(', --resume=/runs/latest.pt'),
    script:
      '\nimport argparse, torch\nparser = argparse.ArgumentParser()\nparser.add_argument("--resume", default=None)\nargs = parser.parse_args()\nif args.resume:\n    torch.load(args.resume)\n',
  },
  check(workload, script) {
    const { trainer } = workload;
    if (trainer === null || usesHoldfast(script) || trainer.command.supervisor?.options.has('resume-arg') === true) return [];
    const flag = RESUME_NAMES.map((name) => unusedFlag(script, name, trainer.command.words)).find((one) => one !== null);
    const at = trainer.command.words.find((word) => word.text.endsWith('.py')) ?? trainer.command.words[0];
    if (flag === undefined || at === undefined) return [];
    return [{ at, message: `${nameOf(workload)}: ${script.path} resumes only with ${flag}, which is not passed.` }];
  },
};

const RESUME_NAMES = [
  'resume',
  'resume_from',
  'resume_from_checkpoint',
  'resume_checkpoint',
  'resume_path',
  'init_from',
  'ckpt_path',
  'load_checkpoint',
  'auto_resume',
];
const OFF = /^(?:None|False|""|''|"scratch"|'scratch')$/;

/**
 * The option of this name, where it is off by default, nothing sets it later, and the command does
 * not have it.
 */
function unusedFlag(script: Script, name: string, words: readonly Word[]): string | null {
  const option = argumentOf(script, name);
  if (option === null || option.keywords.has('required')) return null;
  const given = option.keywords.get('default');
  if (given !== undefined && !OFF.test(script.textOf(given))) return null;
  const flag = option.args.map((arg) => script.textOf(arg).replaceAll(/["']/g, '')).find((text) => text.startsWith('--')) ?? `--${name}`;
  const isPassed = words.some(({ text }) => text.replaceAll('_', '-').includes(flag.replaceAll('_', '-')));
  const isSetLater = new RegExp(`${name}\\s*=\\s*(?!=)`).test(script.text.slice(option.node.to));
  return isPassed || isSetLater ? null : flag;
}

/** How long a handler waits, compared with the grace. */
export const handlerOutlivesGrace: PairRule = {
  code: 'HANDLER_LONGER_THAN_GRACE',
  severity: 'error',
  on: 'pair',
  title: 'The handler waits for longer than the grace',
  why: 'The handler of SIGTERM sleeps, or waits with a timeout, for longer than the grace. The process is killed before that wait is over.',
  fix: 'Raise terminationGracePeriodSeconds above the time that the handler waits, or wait for less.',
  bad: {
    manifest: JOB(),
    script:
      '\nimport signal, time, torch\ndef on_sigterm(signum, frame):\n    saver.join(timeout=60)\n    raise SystemExit(143)\nsignal.signal(signal.SIGTERM, on_sigterm)\n',
  },
  good: {
    manifest: JOB('', '      terminationGracePeriodSeconds: 120\n'),
    script:
      '\nimport signal, time, torch\ndef on_sigterm(signum, frame):\n    saver.join(timeout=60)\n    raise SystemExit(143)\nsignal.signal(signal.SIGTERM, on_sigterm)\n',
  },
  check(workload, script) {
    const grace = graceSeconds(workload.pod);
    return handlersOf(script).flatMap(({ fn }): Hit[] => {
      if (fn === null) return [];
      const waited = script.callsIn(fn.node).reduce((sum, call) => {
        const length =
          call.callee === 'time.sleep'
            ? call.args[0]
            : (call.keywords.get('timeout') ?? (/^(?:join|wait)$/.test(call.method) ? call.args[0] : undefined));
        const seconds = length === undefined ? 0 : Number((textsOf(script, length)[0] ?? '').replaceAll(/[{}]/g, '')) || 0;
        return sum + seconds;
      }, 0);
      const at = workload.trainer?.command.words[0];
      if (!(waited > grace) || at === undefined) return [];
      return [{ at, message: `${nameOf(workload)} has ${grace} s of grace, and the handler in ${script.path} waits up to ${waited} s.` }];
    });
  },
};

/** Two pods over one temporary name. */
export const temporarySharedByPods: PairRule = {
  code: 'TEMPORARY_SHARED_BY_PODS',
  severity: 'warning',
  on: 'pair',
  title: 'Two pods of the Job may write one temporary file',
  why: 'Without a podFailurePolicy the Job starts the next pod as soon as the old one is terminating, which may still save. Both write the same temporary name on the same volume, and each renames what the other one wrote.',
  fix: 'Set podReplacementPolicy: Failed or a podFailurePolicy, and put the pod or the attempt into the temporary name.',
  bad: {
    manifest: JOB(),
    script:
      '\nimport os, torch\nfor step in range(9):\n    loss.backward()\n    torch.save(state, "/runs/latest.tmp")\n    os.replace("/runs/latest.tmp", "/runs/latest.pt")\n',
  },
  good: {
    manifest: JOB('', '', '  podReplacementPolicy: Failed\n'),
    script:
      '\nimport os, torch\nfor step in range(9):\n    loss.backward()\n    torch.save(state, "/runs/latest.tmp")\n    os.replace("/runs/latest.tmp", "/runs/latest.pt")\n',
  },
  check(workload, script) {
    const { job, trainer } = workload;
    if (
      job === null ||
      trainer === null ||
      policyRules(job).length > 0 ||
      textAt(job, 'podReplacementPolicy') === 'Failed' ||
      isSupervised(workload)
    )
      return [];
    if (!trainer.mounts.some(({ volume }) => get(volumeOf(workload.pod, volume), 'persistentVolumeClaim') !== null)) return [];
    const save = savesOf(script).find(({ paths }) =>
      paths.some((path) => /\.(?:tmp|temp|partial)$/.test(path) && !/pid|uuid|hostname|attempt|rank/i.test(path)),
    );
    const at = trainer.command.words.find((word) => word.text.endsWith('.py')) ?? trainer.command.words[0];
    if (save === undefined || at === undefined) return [];
    return [
      {
        at,
        message: `${nameOf(workload)}: the next pod may start while the old one still saves, and both write ${save.paths.find((path) => /\.(?:tmp|temp|partial)$/.test(path))}.`,
      },
    ];
  },
};

const ELASTIC = (nodes: string): string => `
apiVersion: batch/v1
kind: Job
spec:
  parallelism: 4
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: trainer
          command: [torchrun, "--nnodes=${nodes}", --max-restarts=5, --rdzv-id=a, --rdzv-backend=c10d, "--rdzv-endpoint=a-0.a:29400", train.py]
          volumeMounts: [{ name: runs, mountPath: /runs }]
      volumes: [{ name: runs, persistentVolumeClaim: { claimName: runs } }]
`;
const BY_RANK = `
import torch, torch.distributed as dist
dist.init_process_group("nccl")
rank = dist.get_rank()
for step, batch in enumerate(loader):
    model(batch).backward()
    torch.save(shard.state_dict(), f"/runs/part-{rank}.pt")
`;

/** Ranks are not the same after a restart. */
export const elasticFilesByRank: PairRule = {
  code: 'ELASTIC_FILES_BY_RANK',
  severity: 'warning',
  on: 'pair',
  title: 'An elastic training names its checkpoints after ranks',
  why: 'After each change of the nodes torchrun gives its workers new ranks and a new world size. A worker then loads the file of another one, and with fewer workers some files are never loaded. With more workers some find none.',
  fix: 'Save a state that any number of ranks can load (torch.distributed.checkpoint reshards), or train with a fixed --nnodes.',
  bad: { manifest: ELASTIC('2:4'), script: BY_RANK },
  good: { manifest: ELASTIC('4'), script: BY_RANK },
  check(workload, script) {
    const elastic = elasticOf(workload);
    if (elastic === null || hasOwnSaving(script)) return [];
    const save = savesOf(script).find(({ paths }) => paths.some((path) => /\{[^}]*(?:rank|world_?size)[^}]*\}/i.test(path)));
    if (save === undefined) return [];
    const message = `${nameOf(workload)}: ${script.path} saves one file for each rank, and ranks change with the number of nodes.`;
    return [{ at: elastic.at, message }];
  },
};
