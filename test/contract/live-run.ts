import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Status } from '../../src/supervisor/status/status.ts';
import { Supervised } from '../support/supervised.ts';

/**
 * The files and output of two attempts of a real run. Its trainer speaks the SDK's protocol itself.
 */
export interface LiveRun {
  /** The folder of the run. */
  readonly dir: string;
  /** The messages from the supervisor to the ranks. */
  readonly messages: readonly Readonly<Record<string, unknown>>[];
  /** The files beside a save in memory. */
  readonly images: readonly unknown[];
  /** The names of variables that only the trainer has, not the supervisor. */
  readonly variables: readonly string[];
  readonly status: readonly Status[];
  readonly metrics: readonly string[];
  readonly terminationMessages: readonly unknown[];
  /** Read while the second attempt ends. */
  readonly deadlineFile: unknown;
}

interface Line {
  readonly what: 'message' | 'image' | 'environment';
  readonly value: unknown;
}

const TRAINER = join(import.meta.dirname, 'trainer.ts');
/** Variables that the test gave the supervisor, and those that the shells in between set. */
const GIVEN: ReadonlySet<string> = new Set([
  'HOLDFAST_METADATA',
  'HOLDFAST_TEST_MARK',
  'NODE_COMPILE_CACHE',
  'OLDPWD',
  'PATH',
  'PWD',
  'PYTHONDONTWRITEBYTECODE',
  'SHLVL',
  '_',
]);

/**
 * Plays both attempts in a folder. The first finishes. The second resumes, is asked for a save, and
 * then gets a notice. Everything ends with it.
 */
export async function playLiveRun(folder: string): Promise<LiveRun> {
  const runs: Supervised[] = [];
  try {
    return await playBoth(folder, (run) => runs.push(run));
  } finally {
    for (const run of runs) run.kill();
  }
}

async function playBoth(folder: string, onRun: (run: Supervised) => void): Promise<LiveRun> {
  const [dir, report, annotations, end] = [join(folder, 'run'), join(folder, 'report'), join(folder, 'annotations'), join(folder, 'end')];
  const play = (manner: string, ...more: readonly string[]): Supervised => {
    const args = [`--dir=${dir}`, '--every=1000steps', `--termination-log=${end}`, ...more];
    const run = new Supervised({ args, command: [process.execPath, TRAINER, manner, report] });
    onRun(run);
    return run;
  };
  await expectCode(play('finishes'), 0);
  const terminationMessages = [readJson(end)];

  const second = play('waits', '--status=0', `--notice-file=${annotations}`, '--grace=5m');
  const origin = /http:\/\/[^/]+/.exec(await second.line(/status on http/))?.[0] ?? '';
  await second.line(/^ready$/);
  // The newest save is fully known when it is counted, and the trainer when its steps are seen.
  const status = [await statusOf(origin, ({ saves, hang }) => saves.last !== null && hang !== null)];
  writeFileSync(annotations, 'holdfast.dev/notice="save-requested"\n');
  await second.line(/^asked$/);
  status.push(await statusOf(origin, ({ advice }) => advice.length > 0));
  const metrics = [await textOf(`${origin}/metrics`)];
  writeFileSync(annotations, '');
  // The notice asks for another save only when this one is done.
  await second.line(/sealed step/, 2);
  second.signal('SIGTERM');
  await second.line(/^flushing$/);
  status.push(await statusOf(origin, ({ notice }) => notice !== null));
  metrics.push(await textOf(`${origin}/metrics`));
  terminationMessages.push(readJson(end));
  const deadlineFile = readJson(join(dir, '.holdfast', 'attempts', '2', 'deadline.json'));
  process.kill(trainerOf(status), 'SIGUSR2');
  await expectCode(second, 143);
  terminationMessages.push(readJson(end));

  const lines = readLines(report) as readonly Line[];
  const valuesOf = (what: Line['what']): readonly unknown[] => lines.flatMap((line) => (line.what === what ? [line.value] : []));
  return {
    dir,
    messages: valuesOf('message') as readonly Readonly<Record<string, unknown>>[],
    images: valuesOf('image'),
    variables: [...new Set(valuesOf('environment').flat() as string[])].filter((name) => !GIVEN.has(name)).sort(),
    status,
    metrics,
    terminationMessages,
    deadlineFile,
  };
}

function trainerOf(status: readonly Status[]): number {
  const pid = status[0]?.trainer?.pid;
  if (pid === undefined) throw new Error('the status names no trainer');
  return pid;
}

async function expectCode(run: Supervised, code: number): Promise<void> {
  const ended = await run.ended;
  if (ended.code !== code) throw new Error(`the run ended with ${ended.code} instead of ${code}:\n${run.printed}`);
}

/**
 * Repeats the request for the status until the condition holds; the test's time limit bounds it.
 */
async function statusOf(origin: string, isSo: (status: Status) => boolean): Promise<Status> {
  for (;;) {
    const status = JSON.parse(await textOf(`${origin}/status`)) as Status;
    if (isSo(status)) return status;
  }
}

async function textOf(url: string): Promise<string> {
  return (await fetch(url)).text();
}

function readJson(file: string): unknown {
  return JSON.parse(readFileSync(file, 'utf8'));
}

function readLines(file: string): readonly unknown[] {
  const text = readFileSync(file, 'utf8').trimEnd();
  return text.split('\n').map((line) => JSON.parse(line) as unknown);
}
