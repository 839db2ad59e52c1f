import { IGNORED_VARIABLE } from '../core/ignored-signals.ts';

/** What the trainer may want to know before it speaks with the supervisor, or instead of it. */
export interface TrainerFacts {
  readonly socket: string;
  readonly run: string;
  readonly dir: string;
  readonly attempt: number;
  readonly resume: { readonly path: string; readonly step: number; readonly save: string } | null;
  readonly graceMs: number;
  /** Who starts it, as others on this machine can tell whether that lives; null where nobody can. */
  readonly supervisor: string | null;
  /** Folder of the Python package that comes with Holdfast. */
  readonly sdk: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Read by torchrun since 2026; older ones end their workers 30 seconds after SIGTERM, whatever they are told. */
export const TORCHRUN_TIMEOUT = 'TORCH_ELASTIC_SHUTDOWN_TIMEOUT';

/** By which the next supervisor of the run knows a trainer whose own has died. */
export const SUPERVISOR_VARIABLE = 'HOLDFAST_SUPERVISOR';

/** The trainer's environment: the supervisor's own, and what is said in docs/reference/sdk-protocol.md. */
export function trainerEnvironment(env: Environment, facts: TrainerFacts): Environment {
  const { resume } = facts;
  return {
    ...env,
    // Left by an older life it would name a checkpoint that does not count any more.
    HOLDFAST_RESUME_PATH: resume?.path,
    HOLDFAST_RESUME_STEP: resume === null ? undefined : String(resume.step),
    HOLDFAST_RESUME_SAVE: resume?.save,
    // Of this process alone: the trainer is in a session of its own, and hears what it is told.
    [IGNORED_VARIABLE]: undefined,
    HOLDFAST_SOCKET: facts.socket,
    HOLDFAST_RUN: facts.run,
    HOLDFAST_DIR: facts.dir,
    HOLDFAST_ATTEMPT: String(facts.attempt),
    [SUPERVISOR_VARIABLE]: facts.supervisor ?? undefined,
    // Last, so that what the user put there is found first: a trainer needs no installation to attach.
    PYTHONPATH: env['PYTHONPATH'] ? `${env['PYTHONPATH']}:${facts.sdk}` : facts.sdk,
    [TORCHRUN_TIMEOUT]: env[TORCHRUN_TIMEOUT] ?? String(Math.ceil(facts.graceMs / 1000)),
  };
}

/**
 * The command with what tells it where to resume: `--resume-arg=--resume-from` adds two words, `--resume-arg=--ckpt={}` one. Without a
 * checkpoint the command stays as it is.
 */
export function withResumeArgument(command: readonly string[], argument: string | null, path: string | null): readonly string[] {
  if (argument === null || path === null) return command;
  return argument.includes('{}') ? [...command, argument.replaceAll('{}', path)] : [...command, argument, path];
}
