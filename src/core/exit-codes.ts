/** The exit codes of every command, in one table; `docs/reference/exit-codes.md` and the help texts are made from it. */
export const EXIT = {
  ok: 0,
  /** The question was answered, and the answer is no. */
  no: 1,
  /** Nothing that the command understands was found. */
  nothing: 3,
  /** `--strict`: loading a checkpoint would call code outside the frameworks' own names. */
  unsafe: 4,
  usage: 64,
  noInput: 66,
  internal: 70,
  interrupted: 130,
} as const;
