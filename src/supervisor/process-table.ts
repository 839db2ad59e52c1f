import { readdirSync, readFileSync } from 'node:fs';

/** One living process as the kernel shows it. */
interface LivingProcess {
  readonly pid: number;
  readonly parent: number;
  readonly session: number;
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

function livingProcesses(): readonly LivingProcess[] {
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
  const [state = 'X', parent, , session] = statFields(pid);
  return 'ZX'.includes(state) ? null : { pid, parent: Number(parent), session: Number(session) };
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
  try {
    return `\0${readFileSync(`/proc/${pid}/environ`, 'latin1')}`.includes(`\0${mark}\0`);
  } catch {
    // It has just ended, or belongs to somebody else.
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
