import { NOTICES, type NoticeName } from './notices.ts';

/** The programs between Holdfast and the training process. */
export const WRAPPERS = {
  direct: 'nothing',
  shell: 'a shell that forwards no signal',
  torchrun: 'torchrun, two ranks',
} as const;

/** The ways in which a trainer ends. */
export const MANNERS = {
  exits: 'traps the signal and exits with 0',
  ignores: 'ignores the signal',
  dies: 'dies of the signal',
  hangs: 'hangs: makes no more steps, and does not end on the signal',
  daemons: 'dies of the signal, and leaves a daemon that does not',
  ooms: 'runs out of memory: in the save that a notice asks for, or without a notice',
  container: 'runs its whole container out of memory',
} as const;

export const KINDS = { sdk: 'with the SDK', bare: 'without' } as const;

/** One real run. */
export interface Cell {
  readonly wrapper: keyof typeof WRAPPERS;
  readonly kind: keyof typeof KINDS;
  readonly manner: keyof typeof MANNERS;
  readonly notice: NoticeName | 'none';
  /** Whether Holdfast is the first process of a PID namespace. */
  readonly isFirst: boolean;
}

interface Rule {
  readonly because: string;
  readonly leavesOut: (cell: Cell) => boolean;
}

export const isEnding = (notice: Cell['notice']): boolean => notice !== 'none' && NOTICES[notice].terminating;
const isAdvice = (notice: Cell['notice']): boolean => notice !== 'none' && !NOTICES[notice].terminating;
const growsBy = (manner: Cell['manner']): boolean => manner === 'ooms' || manner === 'container';
/** One notice from each source, and one of each meaning. */
const WITH_TORCHRUN: ReadonlySet<Cell['notice']> = new Set(['SIGTERM', 'suspend', 'gcp', 'gcp-advice', 'none']);

/** Combinations that make no sense, or would show nothing new. */
export const LEFT_OUT: readonly Rule[] = [
  {
    because: 'without a notice, only a trainer that is out of memory ends',
    leavesOut: ({ notice, manner }) => notice === 'none' && !growsBy(manner),
  },
  {
    because: 'a container that is out of memory takes its PID 1 with it: that must be Holdfast, and nothing is left to receive a notice',
    leavesOut: ({ manner, notice, isFirst }) => manner === 'container' && (notice !== 'none' || !isFirst),
  },
  {
    because: 'without the SDK no save can be asked for, run out of memory, or be resumed from',
    leavesOut: ({ kind, manner, notice }) =>
      kind === 'bare' && (isAdvice(notice) || manner === 'container' || (manner === 'ooms' && notice !== 'none')),
  },
  {
    because: 'without the SDK a notice reaches the trainer as a signal: SIGINT for Ctrl-C, SIGTERM for all others',
    leavesOut: ({ kind, notice }) => kind === 'bare' && !['SIGTERM', 'SIGINT', 'none'].includes(notice),
  },
  {
    because: 'an advice sends no signal, so how the trainer or its shell treats signals makes no difference',
    leavesOut: ({ notice, manner, wrapper }) => isAdvice(notice) && (wrapper === 'shell' || ['exits', 'ignores', 'hangs'].includes(manner)),
  },
  {
    because: 'being PID 1 changes how Holdfast receives signals and which process reaps orphans; SIGTERM stands for all signals',
    leavesOut: ({ isFirst, notice }) => !isFirst && notice !== 'SIGTERM',
  },
  {
    because: 'torchrun takes seconds to start, so it runs as PID 1, with the SDK, and with one notice of each source',
    leavesOut: ({ wrapper, isFirst, notice, kind }) =>
      wrapper === 'torchrun' && (!isFirst || kind === 'bare' || !WITH_TORCHRUN.has(notice)),
  },
];

const keysOf = <Key extends string>(table: Readonly<Record<Key, unknown>>): readonly Key[] => Object.keys(table) as Key[];

/**
 * Every combination that is run behind these wrappers. The ones that wait for their deadline start
 * first, and wait while others run.
 */
export function cellsOf(wrappers: readonly Cell['wrapper'][], rules = LEFT_OUT): readonly Cell[] {
  return wrappers
    .flatMap((wrapper) => [true, false].map((isFirst) => ({ wrapper, isFirst })))
    .flatMap((one) => keysOf(KINDS).map((kind) => ({ ...one, kind })))
    .flatMap((one) => keysOf(MANNERS).map((manner) => ({ ...one, manner })))
    .flatMap((one) => [...keysOf(NOTICES), 'none' as const].map((notice) => ({ ...one, notice })))
    .filter((cell) => !rules.some(({ leavesOut }) => leavesOut(cell)))
    .toSorted((a, b) => Number(waits(b)) - Number(waits(a)));
}

function waits({ manner, notice }: Cell): boolean {
  return isEnding(notice) && (manner === 'hangs' || manner === 'ignores');
}

/**
 * The time between notice and deadline, where the test sets it. A trainer that ends on a signal
 * gets more time than it needs. For the others the test waits until the deadline. That time must be
 * enough for a save, judged by the first save, even on a busy machine.
 */
export function graceOf(cell: Cell): number {
  if (!waits(cell)) return 60_000;
  return cell.kind === 'bare' ? 2000 : 30_000;
}
