import { cpSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { faultsAfter } from './judge.ts';
import { type Phase, phaseOf, PHASES_OF } from './phases.ts';
import { CALLS, type Call, type Fault, FAULTS, injectArgument, mayGive } from './strace.ts';
import { type End, type Order, SubjectProcess, type ThreadName } from './subject-process.ts';
import { prepare, type Shape, type Subject } from './subjects.ts';
import { readTrace, struckUse, type Trace } from './trace.ts';

export interface CampaignOptions {
  readonly strace: string;
  readonly subject: Subject;
  readonly shape: Shape;
  /** An empty folder to work in. */
  readonly folder: string;
  readonly isSabotaged?: boolean;
  /** Which of all possible injections to make; all by default. */
  readonly choose?: (possible: readonly Planned[]) => readonly Planned[];
  /** Stops at a matching fault; never by default. */
  readonly until?: (fault: string) => boolean;
  readonly signal?: AbortSignal;
}

/** A possible fault: at the nth use of a call by a thread. */
export interface Planned {
  readonly thread: ThreadName;
  readonly call: Call;
  readonly nth: number;
  readonly fault: Fault;
  readonly phase: Phase;
}

/** A fault that took effect. */
export interface Made {
  readonly call: Call;
  readonly fault: Fault;
  readonly phase: Phase;
  readonly end: End['end'];
}

interface Tried {
  readonly made: Made;
  readonly faults: readonly string[];
}

/**
 * Retries a fault that hit another use than intended: other work of the process shifts the count
 * now and then.
 */
const MAX_TRIES = 4;

export interface CampaignResult {
  /** Pairs of a use of a call and a possible fault. */
  readonly possible: number;
  readonly made: readonly Made[];
  readonly faults: readonly string[];
}

/**
 * Traces the subject to see its system calls, injects a fault at each of them, and checks the
 * result.
 */
export async function runCampaign(options: CampaignOptions): Promise<CampaignResult> {
  await using campaign = new Campaign(options);
  await campaign.prepare();
  const possible = await campaign.plan();
  const [made, faults]: [Made[], string[]] = [[], []];
  for (const planned of options.choose?.(possible) ?? possible) {
    if (options.signal?.aborted === true) break;
    let tried: Tried | null = null;
    for (let tries = 0; tried === null && tries < MAX_TRIES; tries++) tried = await campaign.inject(planned);
    if (tried === null) continue;
    made.push(tried.made);
    faults.push(...tried.faults);
    if (options.until !== undefined && tried.faults.some(options.until)) break;
  }
  return { possible: possible.length, made, faults };
}

class Campaign implements AsyncDisposable {
  readonly #options: CampaignOptions;
  readonly #before: string;
  readonly #work: string;
  readonly #trace: string;
  #process: SubjectProcess | null = null;

  constructor(options: CampaignOptions) {
    this.#options = options;
    const { folder } = options;
    [this.#before, this.#work, this.#trace] = [join(folder, 'before'), join(folder, 'work'), join(folder, 'trace')];
  }

  prepare(): Promise<void> {
    const { subject, shape } = this.#options;
    return prepare(subject, this.#before, shape);
  }

  /**
   * Every use of a call that belongs to a phase of the protocol, with each of its possible faults.
   */
  async plan(): Promise<Planned[]> {
    const planned: Planned[] = [];
    for (const thread of ['main', 'pool'] as const) {
      const dry = await this.#traced(thread);
      if (dry === null) continue;
      if (dry.end.end !== 'answered') throw new Error(`the subject ${dry.end.end} without any fault: ${dry.end.reason}`);
      for (const use of dry.trace.uses) {
        const phase = phaseOf(use, this.#work, this.#options.subject);
        if (phase === null) continue;
        const { call, nth } = use;
        planned.push(...FAULTS.filter((fault) => mayGive(call, fault)).map((fault) => ({ thread, call, nth, fault, phase })));
      }
    }
    const { subject, isSabotaged } = this.#options;
    const missing = PHASES_OF[subject].filter((phase) => !planned.some((one) => one.phase === phase));
    if (missing.length > 0 && isSabotaged !== true) throw new Error(`the trace of a ${subject} shows nothing of: ${missing.join(', ')}`);
    return planned;
  }

  /**
   * Null if the fault hit no relevant call: the threads of a process do not always make the same
   * calls in the same order.
   */
  async inject(planned: Planned): Promise<Tried | null> {
    const { subject, shape } = this.#options;
    const { call, nth, fault } = planned;
    const tried = await this.#traced(planned.thread, injectArgument(planned));
    if (tried === null) return null;
    const struck = struckUse(tried.trace);
    const phase = struck === null ? null : phaseOf(struck, this.#work, subject);
    if (phase === null) return null;
    const { end, reason } = tried.end;
    // A command ends with its process. Its unreleased resources would count as in use while the
    // process runs.
    if (leavesClaims(this.#work)) await this.#process?.close();
    const faults = await faultsAfter(subject, shape, this.#work, end === 'answered');
    if (end === 'failed' || end === 'hangs') faults.push(`${end}: ${reason}`);
    const where = `${subject}: ${fault} at use ${nth} of ${call} (${phase})`;
    return { made: { call, fault, phase, end }, faults: faults.map((one) => `${where}: ${one}`) };
  }

  /** Lets the subject work once in a fresh copy of the folder. */
  async #traced(thread: ThreadName, ...injections: readonly string[]): Promise<{ readonly end: End; readonly trace: Trace } | null> {
    const { strace, subject, shape, isSabotaged = false } = this.#options;
    const order: Order = { subject, shape, work: this.#work, isSabotaged };
    if (this.#process === null || this.#process.isGone) {
      this.#refresh();
      this.#process = await SubjectProcess.start(order);
    }
    this.#refresh();
    const expressions = [`trace=${CALLS.join()}`, ...injections].flatMap((expression) => ['-e', expression]);
    const end = await this.#process.obeyTraced(order, thread, [strace, '-y', '-s', '0', '-o', this.#trace, ...expressions]);
    return end === null ? null : { end, trace: readTrace(readFileSync(this.#trace, 'utf8')) };
  }

  #refresh(): void {
    rmSync(this.#work, { recursive: true, force: true });
    // The order of the times of two files matters.
    cpSync(this.#before, this.#work, { recursive: true, preserveTimestamps: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process?.close();
  }
}

function leavesClaims(work: string): boolean {
  const folders = ['shipping', 'fetching'].map((name) => join(work, 'run/.holdfast', name));
  return folders.some((folder) => existsSync(folder) && readdirSync(folder).length > 0);
}
