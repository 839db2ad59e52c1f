import type { Cause } from '../../../src/domain/grace/notice.ts';
import { type Cell, isEnding } from './cells.ts';
import { NOTICES } from './notices.ts';

/** The parts of a run's result that the contract determines. */
export interface Outcome {
  readonly exitCode: number;
  /** The end in the ledger; null: no process was left to record it. */
  readonly end: 'finished' | 'interrupted' | 'failed' | 'killed' | null;
  /** The cause, if another process ended the run. */
  readonly cause: Cause | null;
  /** The result of the save inside the grace; null: no rank was asked for one. */
  readonly flush: 'made' | 'missed' | 'abandoned' | null;
  /** The last good step: none, the one from before the notice, or a later one. */
  readonly sealed: 'none' | 'earlier' | 'later';
}

/** The contract. The first rule that applies determines the result. */
const CONTRACT: readonly { readonly applies: (cell: Cell) => boolean; readonly says: (cell: Cell) => Pick<Outcome, 'exitCode' | 'end'> }[] =
  [
    // Interrupted and resumable, whatever the trainer does.
    { applies: ({ notice }) => isEnding(notice), says: () => ({ exitCode: 143, end: 'interrupted' }) },
    // The kernel has killed Holdfast too.
    { applies: ({ manner }) => manner === 'container', says: () => ({ exitCode: 137, end: null }) },
    // There was no notice, so the exit code of the process that Holdfast started passes through.
    { applies: ({ manner, wrapper }) => manner === 'ooms' && wrapper === 'direct', says: () => ({ exitCode: 137, end: 'killed' }) },
    { applies: ({ manner, wrapper }) => manner === 'ooms' && wrapper === 'shell', says: () => ({ exitCode: 137, end: 'failed' }) },
    { applies: ({ manner }) => manner === 'ooms', says: () => ({ exitCode: 1, end: 'failed' }) },
    // Advice does not change the end.
    { applies: () => true, says: () => ({ exitCode: 0, end: 'finished' }) },
  ];

export function expectedOf(cell: Cell): Outcome {
  const { notice } = cell;
  const rule = CONTRACT.find(({ applies }) => applies(cell));
  if (rule === undefined) throw new Error('the contract says something about every run');
  const cause = notice !== 'none' && isEnding(notice) ? NOTICES[notice].cause : null;
  return { ...rule.says(cell), cause, flush: flushOf(cell), sealed: sealedOf(cell) };
}

function flushOf({ kind, notice, manner }: Cell): Outcome['flush'] {
  if (kind === 'bare' || !isEnding(notice)) return null;
  if (manner === 'hangs') return 'abandoned';
  return manner === 'ooms' ? 'missed' : 'made';
}

function sealedOf({ kind, manner }: Cell): Outcome['sealed'] {
  if (kind === 'bare') return 'none';
  return manner === 'hangs' || manner === 'ooms' || manner === 'container' ? 'earlier' : 'later';
}

/**
 * The possible ends of the process that Holdfast started: its code or signal. Empty: no process was
 * left to record it.
 */
export function trainerEndsOf(cell: Cell): readonly string[] {
  const { wrapper, manner, notice } = cell;
  if (manner === 'container') return [];
  if (!isEnding(notice)) return [manner === 'ooms' ? { direct: 'SIGKILL', shell: 'code 137', torchrun: 'code 1' }[wrapper] : 'code 0'];
  // With the SDK the trainer gets SIGTERM after the save, whatever the notice was.
  const signal = cell.kind === 'bare' && notice === 'SIGINT' ? 'SIGINT' : 'SIGTERM';
  const own = { exits: 'code 0', dies: signal, daemons: signal, ignores: 'SIGKILL', hangs: 'SIGKILL', ooms: 'SIGKILL' }[manner];
  return { direct: () => [own], shell: () => endsOfShell(manner, signal, own), torchrun: () => endsOfTorchrun(manner, own) }[wrapper]();
}

/**
 * SIGTERM ends a shell at once. After SIGINT a shell first waits for its child; then it exits like
 * the child, or dies of the signal.
 */
function endsOfShell(manner: Cell['manner'], signal: string, own: string): readonly string[] {
  // The trainer ends by itself, unless a signal comes first.
  if (manner === 'ooms') return ['code 137', signal];
  return signal === 'SIGTERM' ? [signal] : own === 'SIGKILL' ? [own] : [signal, own];
}

/**
 * Torchrun exits with 1 for every failure. If it waits for ranks that do not end, it is killed with
 * them, or its waiting time ends.
 */
function endsOfTorchrun(manner: Cell['manner'], own: string): readonly string[] {
  // The signal may come when the process is already about to end.
  if (manner === 'ooms') return ['code 1', 'SIGTERM'];
  return own === 'SIGKILL' ? [own, 'code 1'] : ['code 1'];
}
