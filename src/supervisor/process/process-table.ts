import { readdirSync, readFileSync, statSync } from 'node:fs';

/** One living process as the kernel shows it. */
export interface LivingProcess {
  readonly pid: number;
  readonly parent: number;
  readonly session: number;
  /**
   * The start time in ticks since the machine booted; it tells processes apart when the kernel
   * reuses a number.
   */
  readonly began: number;
}

/** The marks of a process of the trainer: any of the three is enough. */
export interface Kinship {
  /** The trainer's process; also the number of the session it leads. */
  readonly root: number;
  /**
   * `NAME=value` in the environment of the trainer. Its descendants inherit it, also in a new
   * session or after the death of their parent.
   */
  readonly mark: string;
}

/**
 * Every living process that the trainer started, directly or not, the trainer included: in its
 * session, below it, or with its mark. A process may change its session, lose its parent and clear
 * its environment. It then looks like a stranger, and is left alone.
 */
export function kinOf({ root, mark }: Kinship): readonly number[] {
  const living = livingProcesses();
  const kin = new Set(living.filter(({ pid, session }) => pid === root || session === root || hasMark(pid, mark)).map(({ pid }) => pid));
  for (let before = -1; before < kin.size; ) {
    before = kin.size;
    for (const { pid, parent } of living) if (kin.has(parent)) kin.add(pid);
  }
  kin.delete(process.pid);
  return [...kin];
}

/** Every living process of the machine that this process can see. */
export function livingProcesses(): readonly LivingProcess[] {
  return listProc().flatMap((name) => {
    const pid = Number(name);
    return Number.isInteger(pid) ? (readStat(pid) ?? []) : [];
  });
}

/**
 * Without /proc nothing can be found this way; the caller then uses the trainer's process group.
 */
function listProc(): readonly string[] {
  try {
    return readdirSync('/proc');
  } catch {
    return [];
  }
}

/** Reads one process; null when it has ended, also when its parent has not waited for it yet. */
function readStat(pid: number): LivingProcess | null {
  const fields = statFields(pid);
  const [state = 'X', parent, , session] = fields;
  return 'ZX'.includes(state) ? null : { pid, parent: Number(parent), session: Number(session), began: Number(fields[BEGAN_FIELD]) };
}

/** Whether this is still the same process, and lives. */
export function isStill({ pid, began }: LivingProcess): boolean {
  return readStat(pid)?.began === began;
}

/**
 * The fields of `stat` from the state on, the third field of the kernel's manual; empty for a
 * process that is gone.
 */
function statFields(pid: number): readonly string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name of the program stands in parentheses, and may hold spaces and parentheses itself.
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}

/** When a process began, the 22nd field of the kernel's manual. */
const BEGAN_FIELD = 22 - 3;
/** The exit status of a process that is ending, the 52nd field of the kernel's manual. */
const STATUS_FIELD = 52 - 3;

/**
 * The signal that is killing or has killed a process before its parent waits for it; null: none, or
 * it cannot be read.
 */
export function dyingSignal(pid: number): number | null {
  const fields = statFields(pid);
  // A stopped process has the signal that stopped it in this field.
  const status = 'Tt'.includes(fields[0] ?? 'T') ? 0 : Number(fields[STATUS_FIELD] ?? 0);
  const signal = status & 0x7f;
  return signal > 0 ? signal : null;
}

function hasMark(pid: number, mark: string): boolean {
  return environmentOf(pid).includes(mark);
}

/**
 * The environment a process was started with, as `NAME=value`. Empty when it has just ended,
 * belongs to another user, or has overwritten it.
 */
export function environmentOf(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  } catch {
    return [];
  }
}

/** Whether a process runs as the same user as this one. */
export function isOwn(pid: number): boolean {
  try {
    return statSync(`/proc/${pid}`).uid === process.geteuid?.();
  } catch {
    return false;
  }
}

/** Whether a process has a handler for the signal; false when this cannot be read. */
export function catchesSignal(pid: number, signal: number): boolean {
  try {
    const caught = /^SigCgt:\s*([0-9a-f]+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? '0';
    return ((BigInt(`0x${caught}`) >> BigInt(signal - 1)) & 1n) === 1n;
  } catch {
    return false;
  }
}
