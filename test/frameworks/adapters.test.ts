import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { EventKind, EventOf } from '../../src/ledger/events.ts';
import { readLedger } from '../../src/ledger/reader.ts';
import { passPytest } from '../support/pytest.ts';
import { ROOT, runProcess } from '../support/run-process.ts';
import { sliceOfCommit } from '../support/slice.ts';
import { Supervised } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { killHard } from '../support/trainer-process.ts';
import { FRAMEWORKS, familyOf, installFrameworks } from './support/python.ts';

const GATE = join(FRAMEWORKS, 'adapters/gate');
const SDK = join(ROOT, 'python');
const ENV = { OMP_NUM_THREADS: '1', CUDA_VISIBLE_DEVICES: '', TQDM_DISABLE: '1', HF_HUB_OFFLINE: '1' };

interface Subject {
  readonly name: string;
  readonly example: string;
  readonly ranks: number;
  readonly launch: 'python' | 'torchrun';
  /**
   * More steps than ranks may need to agree on one, at the pace of the attempt that gets the
   * notice.
   */
  readonly steps: number;
}

const ALONE = { ranks: 1, launch: 'python', steps: 60 } as const;
const TOGETHER = { ranks: 2, steps: 300 } as const;
const SUBJECTS: readonly Subject[] = [
  { name: 'plain torch', example: 'torch', ...ALONE },
  { name: 'the Hugging Face Trainer', example: 'huggingface', ...ALONE },
  { name: 'Lightning', example: 'lightning', ...ALONE },
  { name: 'Accelerate', example: 'accelerate', ...ALONE },
  { name: 'DCP in the background under torchrun', example: 'torchrun', launch: 'torchrun', ...TOGETHER },
];
/**
 * The adapters to run. They treat several ranks like one, so a commit runs one of these
 * (`HOLDFAST_WHOLE=1`: all).
 */
const SEVERAL_RANKS: readonly Subject[] = [
  { name: 'Lightning with two ranks of its own', example: 'lightning', launch: 'python', ...TOGETHER },
  { name: 'Accelerate under torchrun', example: 'accelerate', launch: 'torchrun', ...TOGETHER },
  { name: 'the Hugging Face Trainer under torchrun', example: 'huggingface', launch: 'torchrun', ...TOGETHER },
];
const chosen = sliceOfCommit(
  SEVERAL_RANKS.map(({ name }) => name),
  1,
);
const PLAYED = [...SUBJECTS, ...SEVERAL_RANKS.filter(({ name }) => chosen.has(name))];
/** The step of the notice, in the middle of an epoch of every example. */
const TOLD_AT = 13;
/**
 * How much longer a step takes while ranks agree. They agree within ten seconds, that is within two
 * hundred steps.
 */
const PACE_SECONDS = '0.05';

/**
 * Many times what an attempt takes, so that a hanging test does not hold up the others. Most of it
 * is the import of the framework by every rank, which a busy machine makes ten times as long.
 */
const LIFE_MS = 9 * 60_000;

let python: string;

function commandOf({ example, ranks, launch, steps }: Subject): readonly string[] {
  const args = [join(ROOT, 'examples', example, 'train.py'), String(steps), ...(example === 'lightning' ? [String(ranks)] : [])];
  return launch === 'python'
    ? [python, ...args]
    : [join(dirname(python), 'torchrun'), '--standalone', `--nproc-per-node=${ranks}`, ...args];
}

/**
 * Returns the checksums of the weights that the ranks print at their end. Their lines may run into
 * each other.
 */
const weightsIn = (stdout: string): readonly string[] => stdout.match(/(?<=finished with weights )[0-9a-f]{16}/g) ?? [];

const eventsOf = <K extends EventKind>(dir: string, kind: K): readonly EventOf<K>[] =>
  readLedger(dir).events.flatMap(({ event }) => (event.kind === kind ? [event as EventOf<K>] : []));

/** A run without interruptions and without a supervisor, which must give the same weights. */
async function twinOf(subject: Subject): Promise<readonly string[]> {
  const [program = '', ...args] = commandOf(subject);
  const env = { PATH: process.env['PATH'], PYTHONDONTWRITEBYTECODE: '1', PYTHONPATH: SDK, ...ENV };
  const { code, stdout, stderr } = await runProcess(program, args, { env });
  if (code !== 0) throw new Error(`the twin ended with ${code}:\n${stderr.slice(-4000)}`);
  return weightsIn(stdout);
}

interface Gait {
  readonly args: readonly string[];
  /** The seconds by which every step is longer. */
  readonly pace?: string;
  /** The first step that is not made. */
  readonly end?: number;
}

/** Starts an attempt that stops at a step until the gate is opened. */
function start(subject: Subject, { dir, gate, step }: Place, { args, pace = '0', end = Infinity }: Gait): Supervised {
  writeFileSync(gate, '');
  const facts = { GATE_FILE: gate, GATE_STEP: String(step), GATE_PACE: pace, GATE_END: String(end) };
  const env = { ...ENV, PYTHONPATH: `${GATE}:${SDK}`, ...facts };
  return new Supervised({ args: ['--dir', dir, ...args], command: commandOf(subject), env });
}

interface Place {
  readonly dir: string;
  readonly gate: string;
  readonly step: number;
}

/** Sends a notice at the gate; resolves to the step that was flushed. */
async function tellToEnd(subject: Subject, place: Place): Promise<number> {
  const { dir, gate } = place;
  const pace = subject.ranks > 1 ? PACE_SECONDS : '0';
  const run = start(subject, place, { args: ['--grace', '10m', '--every', '1h'], pace, end: subject.steps - 2 });
  return endingWith(run, place, async () => {
    await everyRank(run, subject);
    run.signal('SIGTERM');
    await run.line(/\bflush\b/);
    rmSync(gate);
    const { code, stderr } = await run.ended;
    const ends = eventsOf(dir, 'flush-ended');
    const isMade = code === 143 && ends.length === 1 && ends[0]?.outcome === 'made';
    expect({ code, isMade, stderr: isMade ? '' : stderr }).toEqual({ code: 143, isMade: true, stderr: '' });
    return ends[0]?.step ?? -1;
  });
}

/** Kills the last rank at the gate; the run restarts by itself and finishes. */
async function killOnce(subject: Subject, place: Place, saved: number): Promise<readonly string[]> {
  const run = start(subject, place, { args: ['--restarts', '1', '--every', '10steps'] });
  return endingWith(run, place, async () => {
    const pids = await everyRank(run, subject);
    await run.line(new RegExp(`sealed step ${saved}\\b`));
    killHard(pids.at(-1) ?? 0);
    rmSync(place.gate);
    const { code, stdout, stderr } = await run.ended;
    expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
    return weightsIn(stdout);
  });
}

/** Bounds the lifetime of every process that a test starts. */
async function endingWith<T>(run: Supervised, { dir }: Place, work: () => Promise<T>): Promise<T> {
  const tooLong = AbortSignal.timeout(LIFE_MS);
  const expired = once(tooLong, 'abort').then(() => {
    throw new Error(`took longer than ${LIFE_MS} ms:\n${run.printed.slice(-4000)}`);
  });
  try {
    return await Promise.race([work(), expired]);
  } catch (thrown) {
    run.kill();
    for (const { pid } of eventsOf(dir, 'trainer-started')) endSession(pid);
    throw thrown;
  }
}

/** Finds the trainer's process groups, because a trainer leads a session of its own. */
function endSession(session: number): void {
  for (const name of readdirSync('/proc')) {
    try {
      if (Number(readFileSync(`/proc/${name}/stat`, 'latin1').split(') ')[1]?.split(' ')[3]) === session)
        process.kill(Number(name), 'SIGKILL');
    } catch {
      // The process does not exist or has ended meanwhile.
    }
  }
}

/** Waits until all ranks stand at the gate, and returns their processes. */
async function everyRank(run: Supervised, { ranks }: Subject): Promise<readonly number[]> {
  const lines = Array.from({ length: ranks }, (_, rank) => run.line(new RegExp(`at step \\d+ rank ${rank} pid`)));
  return (await Promise.all(lines)).map((line) => Number(/pid (\d+)$/.exec(line)?.[1]));
}

beforeAll(async () => {
  python = (await installFrameworks(['torch'])).get(familyOf('adapters/gate/sitecustomize.py')) ?? '';
});

describe('the state that the adapters keep', () => {
  it('is restored, as the tests of the adapters show', async () => {
    const { passed, skipped } = await passPytest(python, { sources: SDK, env: ENV });
    expect(skipped.filter((why) => why !== 'there is no CUDA device here')).toEqual([]);
    expect(passed).toBeGreaterThan(150);
  });
});

describe.each(PLAYED)('$name', (subject) => {
  it('interrupted in the middle of an epoch and then killed, ends with the weights of an undisturbed run, bit for bit', async () => {
    using folder = tempFolder();
    const [dir, gate] = [join(folder.path, 'run'), join(folder.path, 'gate')];
    const [twin, flushed] = await Promise.all([twinOf(subject), tellToEnd(subject, { dir, gate, step: TOLD_AT })]);
    // Past the next save of the cadence, and not at one.
    const saved = Math.ceil((flushed + 1) / 10) * 10;
    const weights = await killOnce(subject, { dir, gate, step: saved + 5 }, saved);
    expect(twin).toHaveLength(subject.ranks);
    expect(weights).toEqual(twin);
    expect(eventsOf(dir, 'attempt-started').map(({ resumeStep }) => resumeStep)).toEqual([null, flushed, saved]);
  });
});
