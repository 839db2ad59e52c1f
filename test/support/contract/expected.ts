import type { Cause } from '../../../src/domain/notice.ts';
import { type Cell, isEnding } from './cells.ts';
import { NOTICES } from './notices.ts';

/** What came out of a run, as far as the contract says what must. */
export interface Outcome {
  readonly exitCode: number;
  /** How the ledger tells the end; null: nobody was left to. */
  readonly end: 'finished' | 'interrupted' | 'failed' | 'killed' | null;
  /** Why, where somebody else ended it. */
  readonly cause: Cause | null;
  /** What became of the save inside the grace; null: none was asked for. */
  readonly flush: 'made' | 'missed' | 'abandoned' | null;
  /** The last good step: none, the one from before the notice, or a later one. */
  readonly sealed: 'none' | 'earlier' | 'later';
}

/** The contract. The first rule that applies says what comes out. */
const CONTRACT: readonly { readonly applies: (cell: Cell) => boolean; readonly says: (cell: Cell) => Pick<Outcome, 'exitCode' | 'end'> }[] =
  [
    // Whatever the trainer makes of it: interrupted, resumable.
    { applies: ({ notice }) => isEnding(notice), says: () => ({ exitCode: 143, end: 'interrupted' }) },
    // The kernel has killed Holdfast too.
    { applies: ({ manner }) => manner === 'container', says: () => ({ exitCode: 137, end: null }) },
    // Nobody had asked for it: the code of whatever Holdfast has started passes through.
    { applies: ({ manner, wrapper }) => manner === 'ooms' && wrapper === 'direct', says: () => ({ exitCode: 137, end: 'killed' }) },
    { applies: ({ manner, wrapper }) => manner === 'ooms' && wrapper === 'shell', says: () => ({ exitCode: 137, end: 'failed' }) },
    { applies: ({ manner }) => manner === 'ooms', says: () => ({ exitCode: 1, end: 'failed' }) },
    // An advice changes nothing about the end.
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

/** How the process that Holdfast started may have ended: its code or signal. Empty: nobody was left to tell. */
export function trainerEndsOf(cell: Cell): readonly string[] {
  const { wrapper, manner, notice } = cell;
  if (manner === 'container') return [];
  if (!isEnding(notice)) return [manner === 'ooms' ? { direct: 'SIGKILL', shell: 'code 137', torchrun: 'code 1' }[wrapper] : 'code 0'];
  // With the SDK it is told by SIGTERM when the save is over, whatever the notice was.
  const signal = cell.kind === 'bare' && notice === 'SIGINT' ? 'SIGINT' : 'SIGTERM';
  const own = { exits: 'code 0', dies: signal, daemons: signal, ignores: 'SIGKILL', hangs: 'SIGKILL', ooms: 'SIGKILL' }[manner];
  return { direct: () => [own], shell: () => endsOfShell(manner, signal, own), torchrun: () => endsOfTorchrun(manner, own) }[wrapper]();
}

/** A shell dies of SIGTERM at once. After SIGINT it first waits for what it has started, and then does as that did, or dies of it. */
function endsOfShell(manner: Cell['manner'], signal: string, own: string): readonly string[] {
  // It ends by itself, unless it is told before it has.
  if (manner === 'ooms') return ['code 137', signal];
  return signal === 'SIGTERM' ? [signal] : own === 'SIGKILL' ? [own] : [signal, own];
}

/** Torchrun makes 1 of everything; while it waits for ranks that do not end, it is killed with them, or has waited long enough. */
function endsOfTorchrun(manner: Cell['manner'], own: string): readonly string[] {
  // The signal may come when it is about to end already.
  if (manner === 'ooms') return ['code 1', 'SIGTERM'];
  return own === 'SIGKILL' ? [own, 'code 1'] : ['code 1'];
}
