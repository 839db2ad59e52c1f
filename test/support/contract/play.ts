import { readFileSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { lastGood } from '../../../src/store/resume/last-good.ts';
import { readRun } from '../../../src/store/folder/store.ts';
import { parseTerminationMessage, type TerminationMessage } from '../../../src/domain/exit/termination-message.ts';
import type { EventKind, EventOf } from '../../../src/ledger/events.ts';
import { readLedger } from '../../../src/ledger/reader.ts';
import { MemoryLimit } from '../memory-limit.ts';
import { ROOT } from '../run-process.ts';
import type { Slots } from '../slots.ts';
import { isAlive, Supervised } from '../supervised.ts';
import { MEMORY, tempFolder } from '../temp-folder.ts';
import { type Cell, graceOf, isEnding } from './cells.ts';
import type { Outcome } from './expected.ts';
import { openSource } from './notices.ts';

const TRAINER = join(ROOT, 'test/support/trainers/contract.py');
/** The step that the trainer saves by itself, before the notice. */
const FIRST_STEP = 3;
const RANKS = { direct: 1, shell: 1, torchrun: 2 } as const;
/**
 * Memory for a training process that does not grow, and for Holdfast with a launcher that has
 * loaded torch.
 */
const TRAINER_BYTES = 96 * 2 ** 20;
const CONTAINER_BYTES = 768 * 2 ** 20;

/** A run that has ended, and what it left. */
export interface Played extends Outcome {
  /** The end of the process that Holdfast started, by the ledger; null: the ledger has none. */
  readonly trainer: string | null;
  /** The notices in the ledger. */
  readonly notices: readonly Pick<EventOf<'notice'>, 'cause' | 'terminating' | 'source'>[];
  /** The reasons of the saves that were started. */
  readonly saves: readonly string[];
  /** The fields of the termination message that the ledger also has; null: there is no message. */
  readonly message: Pick<TerminationMessage, 'provisional' | 'exitCode' | 'end' | 'cause' | 'flush' | 'lastGoodStep'> | null;
  readonly lastGoodStep: number | null;
  /** How many processes the kernel killed for lack of memory. */
  readonly kills: number;
  /** How many of the trainer's daemons are still alive. */
  readonly daemons: number;
  /** The step from which the same command resumes; null where the test did not try. */
  readonly next: number | null;
  readonly printed: string;
}

interface Launch {
  /** The launcher and its options, if there is one. */
  readonly torchrun?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** How many runs may start at the same time. Runs that wait for their deadline do not count. */
  readonly slots: Slots;
}

/** Plays one run of the matrix to its end. */
export async function play(cell: Cell, launch: Launch): Promise<Played> {
  const { manner, notice, isFirst } = cell;
  // In memory: a save on a busy disk could take longer than the grace.
  using folder = tempFolder(MEMORY);
  const place = placeIn(folder.path);
  await using limit = makeLimit(manner);
  await using source = await openSource(notice, place.annotations);
  const run = await launch.slots.within(async () => {
    const started = start(cell, launch, { place, limit, args: source?.args ?? [] });
    await untilReady(started, cell);
    if (source?.heard !== undefined) await started.line(source.heard);
    return started;
  });
  source?.give(run, graceOf(cell));
  if (manner === 'container') expose(run);
  await letFinish(run, cell, place.until);
  const first = { ...(await readRunOf(run, place)), kills: limit?.kills ?? 0, daemons: isFirst ? 0 : livingDaemons(run) };
  if (manner !== 'container') return { ...first, next: null };
  const again = { place: { ...place, meeting: `${place.meeting}-again` }, limit: null, args: [] };
  return { ...first, next: await launch.slots.within(() => startOf(start({ ...cell, manner: 'dies' }, launch, again))) };
}

/**
 * Lets a trainer that gets no signal finish by itself, after the save that advice asks for, unless
 * the save ends it.
 */
async function letFinish(run: Supervised, { notice, manner }: Cell, until: string): Promise<void> {
  if (isEnding(notice) || (notice !== 'none' && manner === 'ooms')) return;
  if (notice !== 'none') await run.line(/sealed step/, 2);
  run.letFinish(until);
}

/** Reads what is left of a run after its end. */
async function readRunOf(run: Supervised, { dir, message }: Place): Promise<Omit<Played, 'kills' | 'daemons' | 'next'>> {
  const { code } = await run.ended;
  const { signal } = await run.died;
  const good = (await lastGood(readRun(dir))).checkpoint?.manifest.step ?? null;
  return {
    ...readOutcome(dir),
    exitCode: code ?? 128 + (signal === null ? 0 : constants.signals[signal]),
    sealed: good === null ? 'none' : good > FIRST_STEP ? 'later' : 'earlier',
    message: readMessage(message),
    lastGoodStep: good,
    printed: run.printed,
  };
}

/**
 * Not for a run in its own namespace: its process numbers mean other processes here, and all of
 * them ended with its first process.
 */
function livingDaemons(run: Supervised): number {
  return [...run.printed.matchAll(/^daemon \d (\d+)$/gm)].filter(([, pid]) => isAlive(Number(pid))).length;
}

type Place = ReturnType<typeof placeIn>;

function placeIn(folder: string) {
  const path = (name: string): string => join(folder, name);
  return { dir: path('run'), message: path('message'), until: path('until'), annotations: path('annotations'), meeting: path('meeting') };
}

function makeLimit(manner: Cell['manner']): MemoryLimit | null {
  if (manner === 'ooms') return new MemoryLimit(TRAINER_BYTES);
  return manner === 'container' ? new MemoryLimit(CONTAINER_BYTES) : null;
}

interface Around {
  readonly place: Place;
  readonly limit: MemoryLimit | null;
  readonly args: readonly string[];
}

function start(cell: Cell, { torchrun = [], env = {} }: Launch, { place, limit, args }: Around): Supervised {
  const { wrapper, kind, manner, isFirst } = cell;
  const isDoomed = manner === 'container';
  const command = { direct: ['python3'], shell: ['sh', '-c', '"$@"; exit $?', 'sh', 'python3'], torchrun }[wrapper];
  const group = isDoomed ? '' : (limit?.path ?? '');
  const trainer = [TRAINER, isDoomed ? 'ooms' : manner, kind, place.meeting, place.until, group];
  return new Supervised({
    args: ['--dir', place.dir, '--every', '1h', '--grace', `${graceOf(cell)}ms`, '--termination-log', place.message, ...args],
    command: [...command, ...trainer],
    isFirst,
    env,
    within: isDoomed ? within(limit?.path ?? '') : [],
  });
}

/** Waits until all ranks train and the first save is sealed. */
async function untilReady(run: Supervised, { wrapper, kind }: Cell): Promise<void> {
  for (let rank = 0; rank < RANKS[wrapper]; rank++) await run.line(new RegExp(`^ready ${rank}$`));
  if (kind === 'sdk') await run.line(new RegExp(`sealed step ${FIRST_STEP} `));
}

/** Everything runs in the control group, including Holdfast. */
const within = (group: string): readonly string[] => ['sh', '-c', 'echo 0 >"$0/cgroup.procs" && exec "$@"', group];

/** Makes the kernel kill Holdfast first; the container ends with it. */
function expose(run: Supervised): void {
  const children = readFileSync(`/proc/${run.pid}/task/${run.pid}/children`, 'latin1').trim().split(' ');
  for (const pid of children) writeFileSync(`/proc/${pid}/oom_score_adj`, '1000');
}

/** The step from which a run resumes, after its end. */
async function startOf(run: Supervised): Promise<number> {
  const { code, stdout } = await run.ended;
  const step = /^start 0 (\d+)$/m.exec(stdout)?.[1];
  if (code !== 0 || step === undefined) throw new Error(`the run that goes on ended with ${code}:\n${run.printed}`);
  return Number(step);
}

/** The ledger's facts about the first attempt. */
function readOutcome(dir: string) {
  const events = readLedger(dir).events.flatMap(({ attempt, event }) => (attempt === 1 ? [event] : []));
  const all = <Kind extends EventKind>(kind: Kind) => events.flatMap((event) => (event.kind === kind ? [event as EventOf<Kind>] : []));
  const one = <Kind extends EventKind>(kind: Kind): EventOf<Kind> | null => {
    const [first = null, ...more] = all(kind);
    if (more.length > 0) throw new Error(`the ledger has ${more.length + 1} events of the kind ${kind}`);
    return first;
  };
  const [ended, end] = [one('trainer-ended'), one('attempt-ended')];
  return {
    end: (end?.end ?? null) as Outcome['end'],
    cause: end?.cause ?? null,
    flush: (one('flush-ended')?.outcome ?? null) as Outcome['flush'],
    trainer: ended === null ? null : (ended.signal ?? `code ${ended.code}`),
    notices: all('notice').map(({ cause, terminating, source }) => ({ cause, terminating, source })),
    saves: all('save-started').map(({ reason }) => reason),
  };
}

function readMessage(path: string): Played['message'] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return null;
  }
  const read = parseTerminationMessage(text);
  if (!read.ok) throw new Error(`the termination message: ${read.reason}`);
  const { provisional, exitCode, end, cause, flush, lastGoodStep } = read.value;
  return { provisional, exitCode, end, cause, flush, lastGoodStep };
}
