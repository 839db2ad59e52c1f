import { execFile } from 'node:child_process';
import { cpSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { realFs } from '../../../src/checkpoint/store/durable-fs.ts';
import { toError } from '../../../src/core/errors.ts';
import { withCompileCache } from '../compile-cache.ts';
import { openWith, resume, saveSteps } from '../store-driver.ts';
import { type Call, CALLS, FAULTS, type Fault, injectArgument, mayGive } from './strace.ts';
import { readTrace, type TracedRun } from './trace.ts';
import { allowed, prepare, type Shape, type Subject } from './subjects.ts';

export interface CampaignOptions {
  readonly strace: string;
  readonly subject: Subject;
  readonly shape: Shape;
  /** An empty folder to work in. */
  readonly folder: string;
  readonly isSabotaged?: boolean;
  /** Which uses of a call get the fault; all by default. */
  readonly choose?: (positions: readonly number[], target: Target) => readonly number[];
}

export interface CampaignResult {
  possible: number;
  made: number;
  /** Those after which the process was killed, refused with a reason, or went on as if nothing was. */
  readonly ends: { killed: number; refused: number; unharmed: number };
  /** By system call and fault: `fsync EIO`. */
  readonly counts: Map<string, number>;
  /** Uses of calls that got a fault: `fsync EIO 3`. */
  readonly places: Set<string>;
  readonly faults: string[];
}

const TRACED = `access,${CALLS.join()}`;
const SCRIPT = fileURLToPath(new URL('subject.ts', import.meta.url));

/** Traces the subject once to see its system calls, then lets a fault come at each of them, and looks what is left. */
export async function runCampaign(options: CampaignOptions): Promise<CampaignResult> {
  const result: CampaignResult = {
    possible: 0,
    made: 0,
    ends: { killed: 0, refused: 0, unharmed: 0 },
    counts: new Map(),
    places: new Set(),
    faults: [],
  };
  await prepare(options.subject, join(options.folder, 'before'), options.shape);
  for (const target of await planTargets(options)) {
    const positions = Array.from({ length: target.count }, (_, index) => index);
    result.possible += target.count;
    const chosen = options.choose?.(positions, target) ?? positions;
    if (target.fault === 'SIGKILL') for (const position of chosen) await tryRuns(options, target, [position], result);
    else if (chosen.length > 0) await tryRuns(options, target, chosen, result);
  }
  return result;
}

/** What faults can come to: a system call of the subject, and how often it is used. */
export interface Target {
  readonly call: Call;
  readonly fault: Fault;
  /** Uses before the subject begins for the first time that counts. */
  readonly before: number;
  readonly count: number;
}

async function planTargets(options: CampaignOptions): Promise<Target[]> {
  const [dry] = (await traceSubject(options, 1, `trace=${TRACED}`)).slice(1);
  if (dry?.end !== 'answered') throw new Error(`the subject fails without any injection: ${dry?.end}`);
  return CALLS.flatMap((call) => {
    const before = dry.from.get(call) ?? 0;
    const count = (dry.to.get(call) ?? 0) - before;
    return count <= 0 ? [] : FAULTS.filter((fault) => mayGive(call, fault)).map((fault) => ({ call, fault, before, count }));
  });
}

/**
 * Lets the fault come at the given position of the first run, and, where the process lives on, again and again, each time at another position of
 * one of the further runs. A run in which it did not come is not counted.
 */
async function tryRuns(options: CampaignOptions, target: Target, positions: readonly number[], result: CampaignResult): Promise<void> {
  const { call, fault, before, count } = target;
  const nth = before + 1 + (positions[0] ?? 0);
  const stride = fault === 'SIGKILL' ? undefined : count + 1;
  const traced = await traceSubject(
    { ...options, idle: [call, String(count)] },
    positions.length,
    `trace=${TRACED}`,
    injectArgument({ call, nth, fault }, stride),
  );
  for (const [index, run] of traced.entries()) {
    if (index === 0 || index > positions.length) continue;
    // A process that is killed does not live to see the fault.
    const use = fault === 'SIGKILL' && run.end === 'killed' ? nth - before : run.injected;
    if (use !== null) await judgeRun(options, runFolder(options, index), { name: `${call} ${fault}`, use, end: run.end }, result);
  }
  for (let index = 0; index <= positions.length; index++) rmSync(runFolder(options, index), { recursive: true, force: true });
}

interface Hit {
  readonly name: string;
  readonly use: number;
  readonly end: TracedRun['end'];
}

async function judgeRun(options: CampaignOptions, run: string, { name, use, end }: Hit, result: CampaignResult): Promise<void> {
  result.made += 1;
  result.ends[end === 'killed' ? 'killed' : end === 'answered' ? 'unharmed' : 'refused'] += 1;
  result.places.add(`${name} ${use}`);
  result.counts.set(name, (result.counts.get(name) ?? 0) + 1);
  const faults = await faultsAfter(options, run, end === 'answered');
  if (end.startsWith('failed')) faults.push(`no reason was given: ${end}`);
  result.faults.push(...faults.map((fault) => `${options.subject}: ${name} at ${use}: ${fault}`));
}

function runFolder({ folder }: CampaignOptions, index: number): string {
  return join(folder, `run-${index}`);
}

/** Runs the subject once to warm up and then `count` times, each in a copy of the run's folder; gives what the trace shows of each. */
async function traceSubject(
  options: CampaignOptions & { readonly idle?: readonly string[] },
  count: number,
  ...expressions: string[]
): Promise<TracedRun[]> {
  const { strace, subject, shape, folder, isSabotaged = false, idle = ['', '0'] } = options;
  const runs = Array.from({ length: count + 1 }, (_, index) => runFolder(options, index));
  for (const run of runs) {
    rmSync(run, { recursive: true, force: true });
    cpSync(join(folder, 'before'), run, { recursive: true });
  }
  const output = join(folder, 'trace');
  const manner = isSabotaged ? 'sabotage' : 'plain';
  const node = [process.execPath, SCRIPT, subject, String(shape.bytes), String(shape.ranks), manner, ...idle, ...runs];
  const tracing = ['-f', '-qq', '-o', output, ...expressions.flatMap((expression) => ['-e', expression])];
  // Its exit code does not matter: it may be killed, and the marks in the trace tell the rest.
  await new Promise<void>((resolve) => {
    execFile(strace, [...tracing, ...node], { env: withCompileCache() }, () => resolve());
  });
  const traced = readTrace(readFileSync(output, 'utf8'));
  return [...traced].sort(([a], [b]) => a - b).map(([, run]) => run);
}

/** What `resume` finds must be the old one or the new one, whole; then a further save must succeed. */
async function faultsAfter({ subject, shape }: CampaignOptions, run: string, isAnswered: boolean): Promise<string[]> {
  try {
    if (!existsSync(run)) return ['the folder of the run is gone'];
    const { key, faults } = await resume(run, shape.bytes);
    const expected = allowed(subject, isAnswered);
    const wrong = key !== null && expected.includes(key) ? [] : [`resume found ${key ?? 'nothing'}, not ${expected.join(' or ')}`];
    const next = await saveSteps(openWith(realFs, run, 'next'), 'a gang that comes later', [1000], { bytes: shape.bytes });
    const after = await resume(run, shape.bytes);
    const lost = after.key === `${next.attempt}/1000` ? [] : [`after a further save resume found ${after.key ?? 'nothing'}`];
    return [...faults, ...wrong, ...lost, ...after.faults];
  } catch (thrown) {
    return [`failed: ${toError(thrown).message}`];
  }
}
