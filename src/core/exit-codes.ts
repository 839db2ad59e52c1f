/**
 * The exit codes of every command, in one table. `docs/reference/exit-codes.md` and `holdfast help
 * exit-codes` come from it.
 */
export const EXIT = {
  ok: 0,
  no: 1,
  partly: 2,
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

/** One exit code in {@link EXIT}. */
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The meaning of each code, for every command. */
export const EXIT_MEANINGS: Readonly<Record<keyof typeof EXIT, string>> = {
  ok: 'Done, and the answer is yes. `verify`: every checkpoint is RESUMABLE or UNCHECKED (with `--require resumable`: RESUMABLE). `probe`: a run can keep its checkpoints there.',
  no: 'Done, and the answer is no. `verify`: at least one checkpoint is not good enough. `probe`: no run can keep its checkpoints there. `resume`, `prune`: no sealed checkpoint is good. `resume`, `ls`, `prune`: every sealed checkpoint is in quarantine. `lint`: there are findings.',
  partly:
    'Done, but a part of the input could not be read (a broken document, half a dump, a missing permission): the answer covers the rest, and the command names the parts that it left out.',
  nothing:
    'The command found nothing that it understands. `verify`: it recognised no checkpoint. `resume`, `ls`, `prune`: nothing is sealed. `lint`: there is no manifest and no script.',
  unsafe: '`verify --strict`: loading a checkpoint would call code that is not part of a framework.',
  fenced: 'A newer attempt of the run has taken over, and this attempt is fenced: its commit was refused.',
  usage: 'The command line is not valid. Nothing was done.',
  unusable:
    '`run`: checkpoints exist in the folder of the run or at the address of `--ship`, but none is usable. None is good, or they belong to another run. No trainer was started, and a retry would end the same way.',
  noInput: 'A path does not exist or cannot be read.',
  noRuntime: 'The launcher found no Node.js that is new enough, `demo` found no Python 3, or the installation is incomplete.',
  internal: 'A defect in Holdfast. Please report it.',
  notWritten:
    'Something could not be written (no permission, a read-only or full volume, an I/O error). Earlier checkpoints are unchanged.',
  outputFailed: 'The result could not be written to standard output (a full disk, for example).',
  unavailable: 'An object store could not be reached or kept failing. The same command may succeed later, and continues where it stopped.',
  notExecutable: '`run`: the program of the trainer cannot be executed. No trainer was started.',
  notFound: '`run`: the program of the trainer does not exist. No trainer was started.',
  interrupted: 'Ctrl-C (SIGINT) ended the command before it was done.',
  outputClosed: 'The reader of standard output closed it (`holdfast … | head`) before the command was done.',
  terminated: 'SIGTERM ended the command before it was done.',
};
