/** The placeholder for the time a run was scheduled for. */
export const SCHEDULED_PLACEHOLDER = '{scheduled}';
/** The variable with that time. */
export const SCHEDULED_VARIABLE = 'HOLDFAST_SCHEDULED_AT';

const MINUTE_MS = 60_000;
/**
 * A CronJob names each Job after the minute that it was scheduled for, counted from 1970: eight
 * digits until the year 2160. A Job names its pods after itself, with an index, five random
 * characters, or both.
 */
const JOB = /-(\d{8})$/;
const POD = /-(\d{8})(?:-\d{1,6})?(?:-[a-z0-9]{5})?$/;
/** The year 2020. Smaller numbers come from other controllers. */
const FIRST_MINUTE = 26_297_280;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Finds the time a run was scheduled for: the user's variable, else the name of the Job, else the
 * name of the pod. Null when a CronJob did not start it. `problem` names a variable that is not a
 * time.
 */
export function scheduledTime(env: Environment): { readonly atMs: number | null; readonly problem: string | null } {
  const said = env[SCHEDULED_VARIABLE] ?? '';
  if (said !== '') {
    const atMs = Date.parse(said);
    const isTime = Number.isFinite(atMs) && /^\d{4}-\d{2}-\d{2}T/.test(said);
    return isTime ? { atMs, problem: null } : { atMs: null, problem: 'it is a time such as 2026-01-31T02:00:00Z' };
  }
  const job = env['HOLDFAST_JOB_NAME'] ?? '';
  if (job !== '') return { atMs: minuteOf(JOB, job), problem: null };
  const isPod = (env['KUBERNETES_SERVICE_HOST'] ?? '') !== '';
  return { atMs: isPod ? minuteOf(POD, env['HOSTNAME'] ?? '') : null, problem: null };
}

/** The time as trainers get it, to the second, in UTC. */
export function scheduledText(atMs: number): string {
  return new Date(atMs).toISOString().replace(/\.\d{3}Z$/, 'Z');
}

function minuteOf(pattern: RegExp, name: string): number | null {
  const minute = Number(pattern.exec(name)?.[1] ?? 0);
  return minute >= FIRST_MINUTE ? minute * MINUTE_MS : null;
}
