import type { EXIT } from './exit-codes.ts';

/**
 * The action that a Job takes for a pod with an exit code of `holdfast run`, as in a
 * podFailurePolicy.
 */
export type JobAction = 'Complete' | 'Ignore' | 'Count' | 'FailJob';

/** The advice for one exit code. */
export interface ExitAdvice {
  /** A few words, as a heading. */
  readonly title: string;
  /** The action for a script that called the command. */
  readonly script: string;
  /** The action for Kubernetes; null for a code that `run` itself never returns. */
  readonly job: JobAction | null;
}

/** The advice for each exit code; exit-codes.ts holds their meanings. */
export const EXIT_ADVICE: Readonly<Record<keyof typeof EXIT, ExitAdvice>> = {
  ok: {
    title: 'Done',
    script: 'Go on. After `run` the training is finished.',
    job: 'Complete',
  },
  no: {
    title: 'The answer is no',
    script:
      'Use an older checkpoint, or stop and tell a person: a retry gives the same answer. After `run`, this is the trainer’s own exit code, in most cases from a Python exception.',
    job: 'Count',
  },
  partly: {
    title: 'Answered, without a part of the input',
    script:
      'Use the answer for what could be read. The command names the parts that it left out: repair them, or get the permission to read them, and run it again.',
    job: null,
  },
  nothing: {
    title: 'There is nothing yet',
    script: 'After `resume` or `ls`: start from the beginning. After `verify`: check the path.',
    job: null,
  },
  unsafe: {
    title: 'Loading it would run foreign code',
    script: 'Do not load the file. `holdfast verify` names what its pickles would call.',
    job: null,
  },
  fenced: {
    title: 'A newer attempt has taken over',
    script: 'Stop: this process is a leftover, and the newer attempt does the work.',
    job: 'Ignore',
  },
  usage: {
    title: 'The command line is wrong',
    script: 'Do not retry: correct the command line. The error names what was not understood.',
    job: 'FailJob',
  },
  unusable: {
    title: 'Checkpoints are there, but none is usable',
    script:
      'Do not retry: a person has to look. `holdfast verify` gives the reason for each checkpoint; `holdfast rollback --fresh` starts from nothing on purpose.',
    job: 'FailJob',
  },
  noInput: {
    title: 'The path cannot be read',
    script: 'Check the path and whether the volume is mounted. A retry can help if the volume is mounted late.',
    job: 'Count',
  },
  noRuntime: {
    title: 'The runtime is missing',
    script: 'Install Node.js 22.18 or newer, or for `demo` Python 3. A retry does not help.',
    job: null,
  },
  internal: {
    title: 'A defect in Holdfast',
    script: 'Report it. A retry may succeed.',
    job: 'Count',
  },
  notWritten: {
    title: 'The folder of the run cannot be written',
    script: 'Check the volume: permissions, room, quota. Earlier checkpoints are unchanged, and the same command resumes from them.',
    job: 'Count',
  },
  outputFailed: {
    title: 'The result could not be printed',
    script: 'Make room where the output goes, and run the command again.',
    job: null,
  },
  unavailable: {
    title: 'An external service did not answer',
    script: 'Retry later: an object store, another node or the network did not answer. The same command continues where it stopped.',
    job: 'Count',
  },
  notExecutable: {
    title: 'The trainer’s program cannot be executed',
    script: 'Correct the command after `--`, or the permissions of the program in the image. A retry does not help.',
    job: 'FailJob',
  },
  notFound: {
    title: 'The trainer’s program does not exist',
    script: 'Correct the command after `--`, or the PATH of the image. A retry does not help.',
    job: 'FailJob',
  },
  interrupted: {
    title: 'Stopped by Ctrl-C',
    script: 'Stop: a person asked for it. `run` ends with 143 after Ctrl-C.',
    job: null,
  },
  outputClosed: {
    title: 'The reader of the output went away',
    script: 'Nothing: the reader of the pipe, such as `head`, closed it.',
    job: null,
  },
  terminated: {
    title: 'Interrupted, and resumable',
    script:
      'Start the same command again: `run` resumes from the last good checkpoint. Other commands change nothing, or can be run again.',
    job: 'Ignore',
  },
};

/** The meaning of each action for a Job, in words. */
export const JOB_ACTIONS: Readonly<Record<JobAction, string>> = {
  Complete: 'counts the pod as finished; no rule is needed.',
  Ignore: 'should start the pod again and not count it (podFailurePolicy: Ignore).',
  Count: 'should start the pod again and count it against backoffLimit (the default without a rule).',
  FailJob: 'should end at once, because no retry can fix it (podFailurePolicy: FailJob).',
};
