/** The exit codes of every command, in one table; `docs/reference/exit-codes.md` and `holdfast help exit-codes` are made from it. */
export const EXIT = {
  ok: 0,
  no: 1,
  nothing: 3,
  unsafe: 4,
  fenced: 5,
  usage: 64,
  unusable: 65,
  noInput: 66,
  noRuntime: 69,
  internal: 70,
  notWritten: 73,
  outputFailed: 74,
  unavailable: 75,
  notExecutable: 126,
  notFound: 127,
  interrupted: 130,
  outputClosed: 141,
  terminated: 143,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** What each code means, whichever command gives it. */
export const EXIT_MEANINGS: Readonly<Record<keyof typeof EXIT, string>> = {
  ok: 'Done, and the answer is yes. `verify`: every checkpoint is RESUMABLE or UNCHECKED (with `--require resumable`: RESUMABLE). `probe`: a run can keep its checkpoints there.',
  no: 'The question was answered, and the answer is no. `verify`: at least one checkpoint is not good enough. `probe`: no run can keep its checkpoints there. `resume`, `prune`: nothing sealed is good. `resume`, `ls`, `prune`: all that was sealed lies in quarantine.',
  nothing:
    'Nothing that the command understands was found. `verify`: no checkpoint was recognised. `resume`, `ls`, `prune`: nothing is sealed.',
  unsafe: '`verify --strict`: loading a checkpoint would call code outside the frameworks’ own names.',
  fenced: 'A newer attempt of the run has taken over; what this one wanted to commit was refused.',
  usage: 'The command line was not understood. Nothing was done.',
  unusable:
    '`run`: nothing that lies in the folder of the run, or at the address of `--ship`, can be gone on from, and it is not empty either: no checkpoint is good, or it belongs to another run. No trainer was started, and the same command would end the same.',
  noInput: 'A path does not exist or cannot be read.',
  noRuntime: 'The launcher found no Node.js that is new enough, `demo` no Python 3, or the installation is incomplete.',
  internal: 'A defect in Holdfast. Please report it.',
  notWritten:
    'Something could not be written (no permission, a read-only or full volume, an I/O error). What was sealed before is as it was.',
  outputFailed: 'The result could not be written to standard output (a full disk, for example).',
  unavailable: 'An object store could not be reached or kept failing. The same command may succeed later, and goes on where it was.',
  notExecutable: '`run`: the program of the trainer cannot be executed. No trainer was started.',
  notFound: '`run`: there is no such program. No trainer was started.',
  interrupted: 'Ctrl-C (SIGINT) ended the command before it was done.',
  outputClosed: 'The reader of standard output went away (`holdfast … | head`) before the command was done.',
  terminated: 'SIGTERM ended the command before it was done.',
};
