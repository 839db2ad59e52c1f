import type { Hit } from '../../source/finding.ts';
import type { WorkloadRule } from '../../engine/rule.ts';
import { trains } from '../../manifest/facts.ts';
import { nameOf } from '../../manifest/workload-names.ts';
import { textAt } from '../../manifest/yaml-node.ts';
import type { Container, Workload } from '../../manifest/workload.ts';

const JOB = (command: string): string => `
apiVersion: batch/v1
kind: Job
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: trainer
          command: ${command}
`;

/** A shell in front of the trainer keeps the signal to itself. */
export const shellHidesSigterm: WorkloadRule = {
  code: 'SHELL_HIDES_SIGTERM',
  readsFragments: true,
  severity: 'error',
  on: 'workload',
  title: 'A shell stands between the kubelet and the trainer',
  why: 'SIGTERM goes to the first process of the container. A shell that waits for a pipe, a list or a background job does not forward it, and as the first process it ignores it. The trainer gets no signal, trains until the grace is over, and is killed.',
  fix: 'Let the shell replace itself with `exec python …` as its last command, without a pipe, or leave the shell out.',
  bad: { manifest: JOB('[sh, -c, "python train.py | tee /logs/out.txt"]') },
  good: { manifest: JOB('[sh, -c, "cd /app && exec python train.py"]') },
  check(workload) {
    const shell = workload.trainer?.command.shell;
    if (shell?.hides == null || !trains(workload)) return [];
    return [{ at: shell.word, message: `${nameOf(workload)}: SIGTERM does not reach the trainer, because ${shell.hides}.` }];
  },
};

/** Another exit code than that of the trainer decides whether the Job is complete. */
export const shellLosesExit: WorkloadRule = {
  code: 'SHELL_LOSES_EXIT_CODE',
  readsFragments: true,
  severity: 'error',
  on: 'workload',
  title: 'The container can end with 0 although the trainer failed',
  why: 'Exit code 0 completes the Job for good. If another program decides the exit code of the container, the Job is Complete although the trainer failed or was interrupted.',
  fix: 'Run the trainer last, with `exec`, or use `set -e -o pipefail` in bash.',
  bad: { manifest: JOB('[bash, -c, "python train.py; echo done"]') },
  good: { manifest: JOB('[bash, -c, "echo begin; exec python train.py"]') },
  check(workload) {
    const shell = workload.trainer?.command.shell;
    if (shell?.losesExit == null || !trains(workload)) return [];
    return [{ at: shell.word, message: `${nameOf(workload)} can be Complete with the training unfinished: ${shell.losesExit}.` }];
  },
};

const SYNTAX =
  /\$\([^A-Za-z_)][^)]*\)|\$\([A-Za-z_]\w*[\s|][^)]*\)|\$\{[A-Za-z_]\w*[^}]*\}|`[^`]+`|(?:^|=)\$[A-Za-z_]\w*|^(?:\|\|?|&&|>>?|<|2>&1|;)$|^~\//;

/** Without a shell nothing reads shell syntax. */
export const shellSyntaxInArgv: WorkloadRule = {
  code: 'SHELL_SYNTAX_WITHOUT_SHELL',
  readsFragments: true,
  severity: 'error',
  on: 'workload',
  title: 'Shell syntax stands where no shell reads it',
  why: 'Kubernetes runs `command` and `args` without a shell. It replaces `$(NAME)` by a variable of the container, and nothing else: `$(date …)`, `${NAME}`, `|` and `&&` reach the program as they are written.',
  fix: 'Compute the value in the program or in a shell (`sh -c "exec … "`); for a variable of the container write $(NAME).',
  bad: { manifest: JOB('[python, train.py, "--since=$(date -d yesterday +%F)"]') },
  good: { manifest: JOB('[sh, -c, "exec python train.py --since=$(date -d yesterday +%F)"]') },
  check(workload) {
    if (!trains(workload) && workload.job === null) return [];
    return workload.containers.flatMap(({ command }) => {
      // A script for another interpreter, such as python -c, is not ours to read.
      if (
        command.shell !== null ||
        command.words[0]?.text.endsWith('sh') === true ||
        command.words.some(({ text }) => /^-(?:c|e|Command)$/.test(text))
      )
        return [];
      return command.words.flatMap((word): Hit[] => {
        const [found] = SYNTAX.exec(word.text.replaceAll('$$', '')) ?? [];
        if (found === undefined) return [];
        const shown = found.replace(/^=/, '');
        return [{ at: word, message: `${nameOf(workload)} runs no shell here: the program gets the text ${shown} as it is written.` }];
      });
    });
  },
};

const INJECTED: Readonly<Record<string, RegExp>> = {
  PyTorchJob: /^(?:MASTER_(?:ADDR|PORT)|WORLD_SIZE|RANK|PYTHONUNBUFFERED|PET_\w+)$/,
  TFJob: /^TF_CONFIG$/,
  Job: /^JOB_COMPLETION_INDEX$/,
  CronJob: /^JOB_COMPLETION_INDEX$/,
  JobSet: /^JOB_COMPLETION_INDEX$/,
};

/** `$(NAME)` of a variable that the container does not have stays as it is. */
export const unknownVariable: WorkloadRule = {
  code: 'ARGUMENT_VARIABLE_UNKNOWN',
  severity: 'error',
  on: 'workload',
  title: 'An argument names a variable that the container does not have',
  why: 'Kubernetes replaces `$(NAME)` only where NAME is a variable in `env` or `envFrom` of the container, or one that the controller adds. Otherwise the program gets the text `$(NAME)`. Variables that the image sets do not count.',
  fix: 'Define the variable in env, before the ones that use it.',
  bad: { manifest: JOB('[python, train.py, "--run=$(RUN_ID)"]') },
  good: { manifest: JOB('[python, train.py, "--run=$(RUN_ID)"]\n          env: [{ name: RUN_ID, value: "7" }]') },
  check(workload) {
    if (!trains(workload) && workload.job === null) return [];
    return workload.containers.flatMap((container) => unknownIn(container, workload));
  },
};

function unknownIn({ command, envNames, hasEnvFrom }: Container, workload: Workload): Hit[] {
  const { object, job } = workload;
  if (hasEnvFrom || command.shell !== null) return [];
  const isInjected = (name: string): boolean => {
    const known = INJECTED[object.kind]?.test(name) === true;
    return known && (!name.startsWith('JOB_') || textAt(job, 'completionMode') === 'Indexed');
  };
  return command.words.flatMap((word): Hit[] => {
    const names = [...word.text.replaceAll('$$', '').matchAll(/\$\(([A-Za-z_]\w*)\)/g)].map(([, name = '']) => name);
    const unknown = names.find((name) => !envNames.has(name) && !isInjected(name));
    if (unknown === undefined) return [];
    return [
      {
        at: word,
        message: `${nameOf(workload)}: the container has no variable ${unknown}, so that the program gets the text $(${unknown}).`,
      },
    ];
  });
}
