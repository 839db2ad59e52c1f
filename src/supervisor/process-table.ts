import { readdirSync, readFileSync, statSync } from 'node:fs';

/** One living process as the kernel shows it. */
export interface LivingProcess {
  readonly pid: number;
  readonly parent: number;
  readonly session: number;
  /** In ticks since the machine began: numbers are given again. */
  readonly began: number;
}

/** What makes a process one of the trainer's: any of the three is enough. */
export interface Kinship {
  /** The trainer's process; also the number of the session it leads. */
  readonly root: number;
  /** `NAME=value` in the environment of the trainer, inherited by what it starts; survives a new session and the death of the parent. */
  readonly mark: string;
}

/**
 * Every living process that the trainer started, at any remove, the trainer included: in its session, below it, or with its mark. A process
 * that went into a session of its own, lost its parent and wiped its environment cannot be told from a stranger, and is left alone.
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

export function livingProcesses(): readonly LivingProcess[] {
  return listProc().flatMap((name) => {
    const pid = Number(name);
    return Number.isInteger(pid) ? (readStat(pid) ?? []) : [];
  });
}

/** Where there is no /proc nothing can be found this way, and the trainer's process group has to do. */
function listProc(): readonly string[] {
  try {
    return readdirSync('/proc');
  } catch {
    return [];
  }
}

/** Null for one that has ended, also when nobody has asked for its exit code yet. */
function readStat(pid: number): LivingProcess | null {
  const fields = statFields(pid);
  const [state = 'X', parent, , session] = fields;
  return 'ZX'.includes(state) ? null : { pid, parent: Number(parent), session: Number(session), began: Number(fields[BEGAN_FIELD]) };
}

/** Whether this is still the process that was seen, and lives. */
export function isStill({ pid, began }: LivingProcess): boolean {
  return readStat(pid)?.began === began;
}

/** From the state on, the third field of the kernel's manual; none for a process that is gone. */
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
/** What a process that is ending will be waited for with, the 52nd field of the kernel's manual. */
const STATUS_FIELD = 52 - 3;

/** The signal of which a process is dying or has died while nobody has waited for it; null: of none, or nobody can tell. */
export function dyingSignal(pid: number): number | null {
  const fields = statFields(pid);
  // One that is only stopped has the signal that stopped it there.
  const status = 'Tt'.includes(fields[0] ?? 'T') ? 0 : Number(fields[STATUS_FIELD] ?? 0);
  const signal = status & 0x7f;
  return signal > 0 ? signal : null;
}

function hasMark(pid: number, mark: string): boolean {
  return environmentOf(pid).includes(mark);
}

/** What a process was started with, `NAME=value` each; nothing where it has just ended, belongs to somebody else, or has written over it. */
export function environmentOf(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  } catch {
    return [];
  }
}

/** Whether a process runs as the user that this one runs as. */
export function isOwn(pid: number): boolean {
  try {
    return statSync(`/proc/${pid}`).uid === process.geteuid?.();
  } catch {
    return false;
  }
}

/** Whether a process has a handler for the signal; false where nobody can tell. */
export function catchesSignal(pid: number, signal: number): boolean {
  try {
    const caught = /^SigCgt:\s*([0-9a-f]+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? '0';
    return ((BigInt(`0x${caught}`) >> BigInt(signal - 1)) & 1n) === 1n;
  } catch {
    return false;
  }
}
