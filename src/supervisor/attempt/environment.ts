import { IGNORED_VARIABLE } from '../../core/ignored-signals.ts';

/** The facts that a trainer may need before it attaches, or without attaching. */
export interface TrainerFacts {
  readonly socket: string;
  readonly run: string;
  readonly dir: string;
  readonly attempt: number;
  readonly resume: { readonly path: string; readonly step: number; readonly save: string } | null;
  readonly graceMs: number;
  /**
   * The identity of the supervisor, by which other processes on this machine can check whether it
   * is alive; null when it has none.
   */
  readonly supervisor: string | null;
  /** The folder of the Python package that comes with Holdfast. */
  readonly sdk: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Read by torchrun since 2026. Older versions end their workers 30 seconds after SIGTERM, whatever
 * the value.
 */
export const TORCHRUN_TIMEOUT = 'TORCH_ELASTIC_SHUTDOWN_TIMEOUT';

/** Lets the next supervisor of the run recognise a trainer whose own supervisor has died. */
export const SUPERVISOR_VARIABLE = 'HOLDFAST_SUPERVISOR';

/**
 * Builds the trainer's environment: the supervisor's own, with the variables in
 * docs/reference/sdk-protocol.md.
 */
export function trainerEnvironment(env: Environment, facts: TrainerFacts): Environment {
  const { resume } = facts;
  return {
    ...env,
    // A value from an earlier attempt could name a checkpoint that is no longer valid.
    HOLDFAST_RESUME_PATH: resume?.path,
    HOLDFAST_RESUME_STEP: resume === null ? undefined : String(resume.step),
    HOLDFAST_RESUME_SAVE: resume?.save,
    // Meant for this process alone: the trainer runs in its own session and gets its notices from
    // the supervisor.
    [IGNORED_VARIABLE]: undefined,
    HOLDFAST_SOCKET: facts.socket,
    HOLDFAST_RUN: facts.run,
    HOLDFAST_DIR: facts.dir,
    HOLDFAST_ATTEMPT: String(facts.attempt),
    [SUPERVISOR_VARIABLE]: facts.supervisor ?? undefined,
    // Added last, so that the user's own entries are found first. A trainer thus needs no
    // installation to attach.
    PYTHONPATH: env['PYTHONPATH'] ? `${env['PYTHONPATH']}:${facts.sdk}` : facts.sdk,
    [TORCHRUN_TIMEOUT]: env[TORCHRUN_TIMEOUT] ?? String(Math.ceil(facts.graceMs / 1000)),
  };
}

/**
 * Adds the argument that names the checkpoint to resume from. `--resume-arg=--resume-from` adds two
 * words, `--resume-arg=--ckpt={}` one. Without a checkpoint the command stays as it is.
 */
export function withResumeArgument(command: readonly string[], argument: string | null, path: string | null): readonly string[] {
  if (argument === null || path === null) return command;
  return argument.includes('{}') ? [...command, argument.replaceAll('{}', path)] : [...command, argument, path];
}
