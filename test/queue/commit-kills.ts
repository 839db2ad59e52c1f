import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openSqlite } from '../../src/queue/backends/sqlite/store.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { auditStore } from './audit-store.ts';
import { ITEMS, Life, pushItems, QUEUE } from './life.ts';
import { pythonWorker, Running, ServerProcess } from './processes.ts';
import { findLost } from './syscalls.ts';

/**
 * The threads that commit: the server's main thread, a worker's main thread with its next request,
 * and the thread of a worker that commits while a long item is in work.
 */
export const COMMITTERS = ['server', 'worker', 'worker’s second thread'] as const;
export type Committer = (typeof COMMITTERS)[number];

/** SIGKILL at the nth use of a call by the committing thread, from just before the commit. */
export interface CommitKill {
  readonly committer: Committer;
  readonly call: string;
  readonly nth: number;
}

/** What a commit left behind. */
interface CommitEnd {
  readonly faults: readonly string[];
  /** What strace wrote. */
  readonly trace: string;
}

/** Every system call of a commit, by the thread that makes them. */
export async function planCommitKills(strace: string, committer: Committer): Promise<readonly CommitKill[]> {
  const { faults, trace } = await commit(committer, [strace]);
  if (faults.length > 0) throw new Error(`a commit that nothing disturbs has faults: ${faults.join(', ')}`);
  const uses = new Map<string, number>();
  return callsOf(trace).map((call) => {
    const nth = (uses.get(call) ?? 0) + 1;
    uses.set(call, nth);
    return { committer, call, nth };
  });
}

/** Kills the process at a system call, lets another one go on, and checks every row at the end. */
export async function killAtCommit(
  strace: string,
  { committer, call, nth }: CommitKill,
): Promise<{ readonly faults: readonly string[]; readonly wasStruck: boolean }> {
  const injection = [strace, '-e', `trace=${call}`, '-e', `inject=${call}:signal=SIGKILL:when=${nth}`];
  const { faults, trace } = await commit(committer, injection);
  return { faults: faults.map((one) => `${committer} killed at ${call} ${nth}: ${one}`), wasStruck: trace.includes('killed by SIGKILL') };
}

/** The calls up to the one after the answer to the commit. Later ones belong to other requests. */
function callsOf(trace: string): readonly string[] {
  const lines = trace.split('\n').filter((line) => /^\w+\(/.test(line));
  const asked = lines.findIndex((line) => /"POST [^ ]*\/turn /.test(line));
  const answered = lines.findIndex((line, i) => i > asked && line.includes('"HTTP/1.1 200 '));
  if (asked < 0 || answered < 0) throw new Error(`the trace of a commit has no commit:\n${trace}`);
  return lines.slice(0, answered + 2).map((line) => line.slice(0, line.indexOf('(')));
}

async function commit(committer: Committer, tracer: readonly string[]): Promise<CommitEnd> {
  using folder = tempFolder();
  const db = join(folder.path, 'queue.db');
  const trace = join(folder.path, 'trace');
  let tracing: Promise<unknown> = Promise.resolve();
  const attach = async (thread: number): Promise<void> => {
    tracing = (await attachTo(thread, [...tracer, '-o', trace])).ended;
  };
  const faults = committer === 'server' ? await commitOnServer(db, attach) : await commitInWorker(db, committer, attach);
  // The tracer ends with the thread.
  await tracing;
  return { faults, trace: readFileSync(trace, 'utf8') };
}

/** Traces one thread, and resolves when it is traced. */
async function attachTo(thread: number, [program = '', ...args]: readonly string[]): Promise<Running> {
  const tracer = new Running(spawn(program, [...args, '-p', String(thread)], { stdio: ['ignore', 'pipe', 'pipe'] }));
  await until(tracer, () => tracer.stderr.includes('attached'));
  return tracer;
}

/** Resolves when what a program has printed shows what is awaited. */
async function until(program: Running, isSeen: () => boolean): Promise<void> {
  const { child, ended } = program;
  while (!isSeen()) {
    if (program.hasEnded) throw new Error(`it ended, and printed: ${program.stdout}${program.stderr}`);
    await Promise.race([once(child.stdout ?? child, 'data'), once(child.stderr ?? child, 'data'), ended]);
  }
}

type Attach = (thread: number) => Promise<void>;

/** When the server is dead, both results of its commit stand, or none if it did not answer. */
async function commitOnServer(db: string, attach: Attach): Promise<readonly string[]> {
  const faults: string[] = [];
  const onEnd = async (): Promise<void> => {
    await using store = openSqlite(db);
    const { done, faults: found } = await auditStore(store, QUEUE, ITEMS);
    faults.push(...found);
    const { size } = life.acknowledged;
    if (done !== size && done !== size + 2) faults.push(`${size} results were acknowledged, two more handed in, and ${done} stand`);
  };
  const life = new Life({ args: [`--db=${db}`, '--listen=127.0.0.1:0'], onEnd });
  try {
    await life.start();
    await life.push();
    await life.commitTwo(attach);
    while (await life.work(0));
  } finally {
    await life[Symbol.asyncDispose]();
  }
  await using store = openSqlite(db);
  const audit = await auditStore(store, QUEUE, ITEMS);
  const unfinished = audit.done === ITEMS.length ? [] : [`${audit.done} of ${ITEMS.length} items are done`];
  return [...faults, ...audit.faults, ...(await findLost(store, life.acknowledged)), ...unfinished];
}

/**
 * Says which threads it has, and waits for SIGUSR1 with a finished item. Then it commits: with its
 * next request, or beside the next item. It says what was acknowledged.
 */
const WORKER = `
import signal, threading, time
import holdfast
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
finished = None
for nth, items in enumerate(holdfast.work("${QUEUE}", batch=BATCH)):
    if finished: print("acknowledged", finished, flush=True)
    if nth == WAITS:
        print("threads", *[one.native_id for one in threading.enumerate()], flush=True)
        signal.sigwait({signal.SIGUSR1})
    for item in items:
        item.done({"key": item.key, "token": item.token})
        if nth == WAITS and BATCH == 2: time.sleep(1.2)
    finished = " ".join(f"{item.key}/{item.token}" for item in items)
`;

const THREADS = /^threads (.*)\n/m;

/** Another worker takes over after the death. Each result is from the newest lease of its item. */
async function commitInWorker(db: string, committer: Committer, attach: Attach): Promise<readonly string[]> {
  const { acknowledged, trouble } = await workTwice(db, committer, attach);
  if (trouble !== null) return [trouble];
  await using store = openSqlite(db);
  const { done, faults } = await auditStore(store, QUEUE, ITEMS);
  const { id = 0 } = (await store.findQueue(QUEUE)) ?? {};
  const stories = await Promise.all(ITEMS.map(({ key }) => store.story(id, key)));
  const dead = stories.filter((story) => story?.results[0]?.result !== JSON.stringify({ key: story?.key, token: story?.token }));
  return [
    ...faults,
    ...(done === ITEMS.length ? [] : [`${done} of ${ITEMS.length} items are done`]),
    ...dead.map((story) => `the result of ${story?.key ?? 'an item'} is not from its newest lease`),
    ...(await findLost(store, acknowledged)),
  ];
}

interface Worked {
  readonly acknowledged: ReadonlyMap<string, string>;
  readonly trouble: string | null;
}

/** One worker commits under the tracer, and another one does what it has left. */
async function workTwice(db: string, committer: Committer, attach: Attach): Promise<Worked> {
  const script = (waits: string): string => WORKER.replaceAll('BATCH', committer === 'worker' ? '1' : '2').replaceAll('WAITS', waits);
  await using server = await ServerProcess.start([`--db=${db}`, '--listen=127.0.0.1:0', '--lease=6s']);
  await pushItems(server.url);
  await using first = pythonWorker(server.url, script('1'));
  await until(first, () => THREADS.test(first.stdout));
  const threads = THREADS.exec(first.stdout)?.[1]?.split(' ').map(Number) ?? [];
  await attach(threads[committer === 'worker' ? 0 : 2] ?? 0);
  first.signal('SIGUSR1');
  await first.ended;
  await using second = pythonWorker(server.url, script('-1'));
  const code = await second.ended;
  const trouble = code === 0 ? null : `the second worker ended with ${code}: ${second.stderr}`;
  const pairs = [...first.stdout.matchAll(/^acknowledged (.*)$/gm)].flatMap(([, one = '']) => one.split(' '));
  const results = pairs.map((pair): [string, string] => {
    const [key = '', token] = pair.split('/');
    return [key, JSON.stringify({ key, token: Number(token) })];
  });
  return { acknowledged: new Map(results), trouble };
}
