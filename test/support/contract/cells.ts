import { NOTICES, type NoticeName } from './notices.ts';

/** What stands between Holdfast and the training process. */
export const WRAPPERS = {
  direct: 'nothing',
  shell: 'a shell that passes no signal on',
  torchrun: 'torchrun, two ranks',
} as const;

/** How a trainer meets its end. */
export const MANNERS = {
  exits: 'traps the signal and exits with 0',
  ignores: 'ignores the signal',
  dies: 'dies of the signal',
  hangs: 'hangs: no more steps, and no end in its handler',
  daemons: 'dies of the signal and leaves a daemon that does not',
  ooms: 'runs out of memory: in the save that the notice asks for, or by itself',
  container: 'runs its whole container out of memory',
} as const;

export const KINDS = { sdk: 'with the SDK', bare: 'without' } as const;

/** One real run. */
export interface Cell {
  readonly wrapper: keyof typeof WRAPPERS;
  readonly kind: keyof typeof KINDS;
  readonly manner: keyof typeof MANNERS;
  readonly notice: NoticeName | 'none';
  /** As the first process of a PID namespace. */
  readonly isFirst: boolean;
}

interface Rule {
  readonly because: string;
  readonly leavesOut: (cell: Cell) => boolean;
}

export const isEnding = (notice: Cell['notice']): boolean => notice !== 'none' && NOTICES[notice].terminating;
const isAdvice = (notice: Cell['notice']): boolean => notice !== 'none' && !NOTICES[notice].terminating;
const growsBy = (manner: Cell['manner']): boolean => manner === 'ooms' || manner === 'container';
/** One of each source, and of each meaning. */
const WITH_TORCHRUN: ReadonlySet<Cell['notice']> = new Set(['SIGTERM', 'suspend', 'gcp', 'gcp-advice', 'none']);

/** Which combinations make no sense, or would say nothing new. */
export const LEFT_OUT: readonly Rule[] = [
  {
    because: 'without a notice only a trainer that is out of memory comes to an end',
    leavesOut: ({ notice, manner }) => notice === 'none' && !growsBy(manner),
  },
  {
    because:
      'when a whole container is out of memory, nobody is left whom a notice could be given to, and without its first process it is not a whole one',
    leavesOut: ({ manner, notice, isFirst }) => manner === 'container' && (notice !== 'none' || !isFirst),
  },
  {
    because: 'without the SDK there is no save that could be asked for, run out of memory, or be gone on from',
    leavesOut: ({ kind, manner, notice }) =>
      kind === 'bare' && (isAdvice(notice) || manner === 'container' || (manner === 'ooms' && notice !== 'none')),
  },
  {
    because: 'without the SDK a notice is a signal to the trainer: SIGINT for Ctrl-C, SIGTERM for all others',
    leavesOut: ({ kind, notice }) => kind === 'bare' && !['SIGTERM', 'SIGINT', 'none'].includes(notice),
  },
  {
    because: 'an advice sends no signal: how the trainer, or a shell in front of it, would meet one makes no difference',
    leavesOut: ({ notice, manner, wrapper }) => isAdvice(notice) && (wrapper === 'shell' || ['exits', 'ignores', 'hangs'].includes(manner)),
  },
  {
    because: 'whether Holdfast is PID 1 decides how it hears signals and who reaps, for which SIGTERM stands',
    leavesOut: ({ isFirst, notice }) => !isFirst && notice !== 'SIGTERM',
  },
  {
    because: 'torchrun takes seconds to start: as PID 1, with the SDK, and one notice of each source',
    leavesOut: ({ wrapper, isFirst, notice, kind }) =>
      wrapper === 'torchrun' && (!isFirst || kind === 'bare' || !WITH_TORCHRUN.has(notice)),
  },
];

const keysOf = <Key extends string>(table: Readonly<Record<Key, unknown>>): readonly Key[] => Object.keys(table) as Key[];

/** Every combination that is run behind these wrappers. Those that have to wait for their deadline begin first: they wait while others run. */
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
 * How long the run has after its notice, where that is ours to say. Trainers that end when they are told get more time than they need. The others make
 * the test wait for the deadline, which must do for a save where they make one, by what the first has taken: also on a machine that has much
 * else to do.
 */
export function graceOf(cell: Cell): number {
  if (!waits(cell)) return 60_000;
  return cell.kind === 'bare' ? 2000 : 30_000;
}
