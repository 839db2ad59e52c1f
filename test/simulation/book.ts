import { type ApiObject, controllerReference, keyText } from '../../src/kube/api/api-object.ts';
import { PODS } from '../../src/kube/api/resources.ts';
import { listAt, numberAt, textAt } from '../../src/kube/objects/fields.ts';
import { ANNOTATIONS } from '../../src/operator/kinds/annotations.ts';
import { ATTEMPT_LABEL } from '../../src/operator/kinds/names.ts';
import { JOB_KINDS } from '../../src/operator/kinds/table.ts';
import { parseRecord } from '../../src/operator/training-run/parse-record.ts';
import type { RunRecord } from '../../src/operator/training-run/record.ts';
import { subjectOf, TRAINING_RUNS } from '../../src/operator/training-run/training-run.ts';
import { type Body, type Injury, isSupervised, type TrueJob } from './bodies.ts';
import type { JobShape } from './job-shapes.ts';
import { type Charged, charged, refilled, type Rules, type Spent, UNSPENT } from './budget-model.ts';
import type { ClusterTruth, TrueNode } from './cluster-truth.ts';
import type { WriteCall } from './operator-process.ts';

/** All pods of a job may be replaced in one pass, and each is charged. */
const MOST_REPLACED = 5;
/** How long a watch of an operator may lag, and the requests that follow from what it shows. */
const LONGEST_LAG_MS = 20_000;

/** The books of a simulation, kept apart from the operator: they name what must not be. */
export class Book {
  readonly #truth: ClusterTruth;
  readonly #spent = new Map<string, Spent>();
  readonly #records = new Map<string, RunRecord>();
  /** What each run had spent before its last attempt was charged for a failure. */
  readonly #beforeFailure = new Map<string, Refund>();
  readonly #seen = new Map<string, number>();
  readonly faults: string[] = [];

  constructor(truth: ClusterTruth) {
    this.#truth = truth;
  }

  /** A write that an operator is about to make. */
  heard({ verb, resource, key, object, graceSeconds }: WriteCall): void {
    if (resource.plural !== PODS.plural) return;
    if (verb === 'create') this.#created(object as ApiObject);
    if (verb === 'delete' && graceSeconds === 0) this.#forced(key.name);
  }

  /** A container that starts now. */
  started(body: Body): void {
    const older = this.#truth.running(body.jobUid).find(({ attempt, isForced }) => attempt !== body.attempt && !isForced);
    if (older === undefined) return;
    this.#fault(`${body.name} of attempt ${body.attempt} starts while ${older.name} of attempt ${older.attempt} runs`);
  }

  /** Reads everything that was written since the last time. */
  read(): void {
    for (const run of this.#news(TRAINING_RUNS)) this.#readRun(run);
    for (const { resource } of JOB_KINDS) for (const job of this.#news(resource)) this.#readJob(job);
  }

  *#news(resource: typeof TRAINING_RUNS): Iterable<ApiObject> {
    const history = this.#truth.cluster.historyOf(resource);
    for (;;) {
      const change = history?.after(this.#seen.get(resource.plural) ?? 0) ?? null;
      if (change === 'gone') throw new Error('the history was compacted before it was read');
      if (change === null) break;
      this.#seen.set(resource.plural, change.version);
      if (change.type !== 'deleted') yield change.object;
    }
    this.#seen.set(resource.plural, this.#truth.cluster.version);
  }

  /** Never pods of two attempts at once. */
  #created(pod: ApiObject): void {
    const uid = controllerReference(pod)?.uid ?? '';
    const attempt = Number(pod.metadata.labels?.[ATTEMPT_LABEL] ?? 1);
    const other = this.#truth.pods().find(([, body]) => body.jobUid === uid && body.attempt !== attempt);
    if (other === undefined) return;
    this.#fault(
      `${keyText({ namespace: null, name: pod.metadata.name })} of attempt ${attempt} is created beside attempt ${other[1].attempt}`,
    );
  }

  /** A pod goes by force only where its node was lost for a while, and its job allows it. */
  #forced(name: string): void {
    const found = this.#truth.pods().find(([pod]) => pod.metadata.name === name);
    if (found === undefined) return;
    const [, body] = found;
    const job = this.#truth.jobs.get(body.jobUid);
    const node = this.#truth.nodes.find((each) => each.name === body.node);
    const isAllowed = job !== undefined && (isSupervised(job) || job.shape.annotations[ANNOTATIONS.forceLostNodes] === 'true');
    const wasLost = node !== undefined && this.#truth.clock.now() - node.lostMs >= 20_000 && node.lostMs > 0;
    if (!isAllowed || !wasLost)
      this.#fault(`${name} is deleted by force although ${isAllowed ? 'its node was there' : 'nothing fences it'}`);
    body.isForced = true;
    if (job !== undefined && node !== undefined) this.#mustBeBlamed(job, body, node);
  }

  /** Before a pod goes from a lost node, the record blames that node for what followed from it. */
  #mustBeBlamed(job: TrueJob, body: Body, node: TrueNode): void {
    const run = this.#truth.cluster.all(TRAINING_RUNS).find((each) => subjectOf(each)?.uid === job.uid);
    const record = parseRecord(run?.['status']);
    const last = record?.attempts.find(({ number }) => number === record.attempt - 1) ?? null;
    if (last?.end == null || last.number !== body.attempt) return;
    // An attempt that started too late has an end without an exit code.
    const isFailure = UNPROVEN.has(last.end.cause) && last.end.exitCode !== null;
    const isOfGang = !job.shape.kind.asideRoles.includes(body.role);
    if (isOfGang && isFailure && wasSilent(node, last.detectedAt))
      this.#fault(`${job.name} blames ${last.end.pod} (${last.end.cause}) for attempt ${last.number}, whose ${node.name} was lost`);
  }

  #readRun(run: ApiObject): void {
    const subject = subjectOf(run);
    const job = this.#truth.jobs.get(subject?.uid ?? '');
    const after = parseRecord(run['status']);
    if (job === undefined || after === null) return;
    const before = this.#records.get(job.uid) ?? null;
    this.#records.set(job.uid, after);
    this.#readProgress(job, after);
    if (before?.endedAt == null && after.phase === 'Failed') this.#mayBeFinal(job, after);
    const spent = refilled(this.#spent.get(job.uid) ?? UNSPENT, after.progress.lastGoodStep);
    this.#spent.set(job.uid, this.#explain(job, { before, after, spent }));
  }

  #readProgress(job: TrueJob, { progress }: RunRecord): void {
    if ((progress.lastGoodStep ?? 0) > job.lastGoodStep) this.#fault(`${job.name} is said to have saved step ${progress.lastGoodStep}`);
  }

  /** A run fails for no error that a silent node may explain, before the fate of it is known. */
  #mayBeFinal({ uid, name, shape }: TrueJob, { attempt, attempts }: RunRecord): void {
    const last = attempts.find(({ number }) => number === attempt) ?? null;
    if (last?.end == null || last.detectedAt === null || !isGang(shape) || !UNPROVEN.has(last.end.cause)) return;
    const { end, detectedAt } = last;
    const isAside = ({ role }: Body): boolean => shape.kind.asideRoles.includes(role);
    const own = [...this.#truth.bodies.values()].filter((body) => body.jobUid === uid && body.attempt === attempt && !isAside(body));
    const failed = own.find((body) => body.name === end.pod && body.endedMs !== null);
    const seconds = (ms: number | null | undefined): number => Math.floor((ms ?? 0) / 1000);
    if (failed === undefined || Date.parse(detectedAt) / 1000 - seconds(failed.endedMs) >= 60) return;
    const peers = own.filter((body) => body.state === 'running' && body.node !== failed.node && this.#truth.podOf(body) !== null);
    const isSilent = (body: Body): boolean =>
      this.#truth.nodes.some((node) => node.name === body.node && node.isLost && seconds(node.silentMs) <= seconds(failed.endedMs));
    const silent = peers.find(isSilent);
    if (silent !== undefined) this.#fault(`${name} fails for ${end.pod} (${end.cause}), while ${silent.node} of ${silent.name} is silent`);
  }

  /** What the budgets must be after this write: each loss is charged once, and nothing else is. */
  #explain(job: TrueJob, write: Written): Spent {
    const { before, after, spent } = write;
    const attempt = before?.attempt ?? 1;
    if (after.attempt < attempt || after.attempt > attempt + 1) this.#fault(`${job.name} goes from attempt ${attempt} to ${after.attempt}`);
    if (after.attempt === attempt) {
      const refunded = before === null ? null : this.#refund(job, write);
      if (refunded !== null) return refunded;
      const isQuiet = matches(after, spent) && newReplacements(before, after).length === 0;
      return isQuiet ? spent : (this.#charge(job, write, null) ?? this.#unexplained(job, write, 'the budgets'));
    }
    return this.#explainEnd(job, write, attempt);
  }

  #explainEnd(job: TrueJob, write: Written, attempt: number): Spent {
    const end = write.after.attempts.find(({ number }) => number === attempt)?.end ?? null;
    if (end === null) return this.#unexplained(job, write, `the end of attempt ${attempt}`);
    if (end.cause === 'JOB_SUSPENDED') return this.#suspended(job, write);
    const explained = this.#charge(job, write, { pod: end.pod, cause: end.cause });
    if (explained !== null) this.#beforeFailure.set(job.uid, { attempt, spent: write.spent });
    return explained ?? this.#unexplained(job, write, `the end of attempt ${attempt} by ${end.pod} (${end.cause})`);
  }

  /** A node of the last attempt was lost: it counts as an interruption from the start. */
  #refund(job: TrueJob, { before, after, spent }: Written): Spent | null {
    const [was, is] = [before, after].map((record) => record?.attempts.find(({ number }) => number === after.attempt - 1) ?? null);
    const known = this.#beforeFailure.get(job.uid);
    if (was?.end == null || is?.end == null || was.end.cause === is.end.cause) return null;
    const { pod } = is.end;
    // A pod that was replaced alone may still be there beside its successor of the same name.
    const bodies = [...this.#truth.bodies.values()].filter(
      (each) => each.jobUid === job.uid && each.attempt === is.number && each.name === pod,
    );
    const nodes = this.#truth.nodes.filter(({ name }) => bodies.some(({ node }) => node === name));
    const back = refundOf(known, spent);
    this.#beforeFailure.delete(job.uid);
    if (
      is.end.cause === 'NODE_LOST' &&
      nodes.some((node) => wasSilent(node, is.detectedAt)) &&
      known?.attempt === is.number &&
      after.notBefore === null &&
      matches(after, back)
    )
      return back;
    return this.#unexplained(job, { before, after, spent: back }, `the loss of ${pod} that attempt ${is.number} is said to have ended for`);
  }

  #suspended(job: TrueJob, write: Written): Spent {
    const spent = { ...write.spent, interruptions: write.spent.interruptions + 1 };
    if (!job.wasSuspended) this.#fault(`${job.name} ends an attempt for a suspension that was none`);
    const object = this.#truth.jobObject(job);
    job.wasSuspended = object !== null && isSuspended(object);
    return matches(write.after, spent) ? spent : this.#unexplained(job, write, 'the budgets of a suspension');
  }

  /** Finds losses, each charged once, that lead to the budgets of the write. */
  #charge(job: TrueJob, write: Written, last: { readonly pod: string | null; readonly cause: string } | null): Spent | null {
    const attempt = write.before?.attempt ?? 1;
    const replaced =
      last === null && write.after.endedAt === null
        ? newReplacements(write.before, write.after).map(({ role, index }) => `${role}/${index}`)
        : [];
    const open = this.#losses(job, write)
      .filter(({ body }) => body === null || !body.isCharged)
      .filter(({ body }) => replaced.length === 0 || (body !== null && replaced.includes(`${body.role}/${body.index}`)));
    const possible = (left: readonly Loss[]) =>
      left.flatMap((loss) => rulesFor(job, write.after, { attempt, loss }).map((rules) => ({ loss, rules })));
    const search = (spent: Spent, left: readonly Loss[], depth: number): readonly Loss[] | null => {
      for (const { loss, rules } of possible(left)) {
        const outcome = charged(spent, loss.injury, rules);
        const isLast = last === null || (loss.name === last.pod && loss.injury.causes.includes(last.cause));
        if (isLast && matches(write.after, outcome.spent) && isOutcome(write, outcome, last !== null)) return [{ ...loss, outcome }];
        if (depth === 0 || outcome.fails) continue;
        const rest = search(
          outcome.spent,
          left.filter((other) => other !== loss && (other.body === null || other.body !== loss.body)),
          depth - 1,
        );
        if (rest !== null) return [loss, ...rest];
      }
      return null;
    };
    const found = search(write.spent, open, MOST_REPLACED);
    if (found === null) return null;
    for (const { body } of found) if (body !== null) body.isCharged = true;
    return found.at(-1)?.outcome?.spent ?? write.spent;
  }

  /** Everything that may have ended the attempt or one of its pods. */
  #losses(job: TrueJob, { before, after }: Written): readonly Loss[] {
    const attempt = before?.attempt ?? 1;
    const own = [...this.#truth.bodies.values()].filter((body) => body.jobUid === job.uid && body.attempt === attempt);
    const bodies = own.toReversed();
    const real = bodies.flatMap((body) => body.injuries.map((injury) => ({ name: body.name, role: body.role, body, injury })));
    const overdue = (before?.replacing ?? []).map(({ role, index }) => ({
      name: `${job.name}-${role.toLowerCase()}-${index}`,
      role,
      body: null,
      injury: { kind: 'interruption', exitCode: null, causes: ['POD_DELETED'], line: 0 } as const,
    }));
    const isLate = job.shape.annotations[ANNOTATIONS.startDeadline] !== undefined && startOf(after, attempt) === null;
    const causes = ['POD_UNSCHEDULABLE', 'IMAGE_NOT_PULLED', 'CONTAINER_NOT_STARTED', 'CANNOT_TELL'];
    const end = after.attempts.find(({ number }) => number === attempt)?.end ?? null;
    const late = { kind: 'late', exitCode: null, causes, line: 0 } as const;
    const unstarted = isLate && end !== null ? [{ name: end.pod ?? '', role: '', body: null, injury: late }] : [];
    return [...real, ...overdue, ...unstarted];
  }

  #unexplained(job: TrueJob, { after, spent }: Written, what: string): Spent {
    const { errors, doubts, inARow, interruptions } = after.budgets;
    const now = JSON.stringify(after.budgets);
    this.#fault(`${job.name}: nothing explains ${what}: ${now} after ${JSON.stringify(spent)}`);
    return { ...spent, errors, doubts, inARow, interruptions };
  }

  /** An unfinished run never looks finished, and a job that may go on never looks failed. */
  #readJob(object: ApiObject): void {
    const job = this.#truth.jobs.get(object.metadata.uid);
    if (job === undefined) return;
    const conditions = new Set(
      listAt(object, 'status', 'conditions').flatMap((each) => (textAt(each, 'status') === 'True' ? (textAt(each, 'type') ?? []) : [])),
    );
    const bodies = [...this.#truth.bodies.values()].filter(({ jobUid }) => jobUid === job.uid);
    if (conditions.has('Succeeded') && !bodies.some(({ isFinished }) => isFinished)) this.#fault(`${job.name} succeeds before it is done`);
    if (conditions.has('Failed') && !this.#mayFail(job, bodies)) this.#fault(`${job.name} fails without a reason`);
  }

  #mayFail(job: TrueJob, bodies: readonly Body[]): boolean {
    const object = this.#truth.jobObject(job);
    if (object === null) return true;
    const record = this.#records.get(job.uid) ?? null;
    if (record?.endedAt != null || numberAt(object, 'spec', 'runPolicy', 'activeDeadlineSeconds') !== null) return true;
    const limit = numberAt(object, 'spec', 'runPolicy', 'backoffLimit');
    const current = bodies.filter(({ attempt }) => attempt === (record?.attempt ?? 1));
    const restarts = current.filter((body) => this.#maySeemToRun(body)).reduce((sum, body) => sum + body.restarts, 0);
    if (limit !== null && restarts > 0 && restarts >= limit) return true;
    return this.#isSpent(job, current, limit);
  }

  /** Whether a watch that lags may still show that the container of a body runs. */
  #maySeemToRun({ state, endedMs }: Body): boolean {
    return state === 'running' || (endedMs !== null && this.#truth.clock.now() - endedMs <= LONGEST_LAG_MS);
  }

  /** Whether the losses of an attempt may use up what is left. */
  #isSpent(job: TrueJob, bodies: readonly Body[], limit: number | null): boolean {
    const spent = this.#spent.get(job.uid) ?? UNSPENT;
    const isLate = job.shape.annotations[ANNOTATIONS.startDeadline] !== undefined;
    const injuries = bodies.flatMap((body) => body.injuries.map((injury) => ({ body, injury })));
    // Several replicas may be charged one after the other in the pass that fails the job.
    const errors = injuries.filter(({ injury }) => injury.kind === 'error' || injury.kind === 'doubt').length + (isLate ? 1 : 0);
    if (limit !== null && spent.errors + errors > limit) return true;
    const rules = ({ role }: Body): Rules => ({ policy: policyOf(job, role), limit, isLogKnown: true });
    return injuries.some(({ body, injury }) => charged(spent, injury, rules(body)).fails);
  }

  #fault(text: string): void {
    this.faults.push(text);
    this.#truth.note(`FAULT: ${text}`);
  }
}

interface Written {
  readonly before: RunRecord | null;
  readonly after: RunRecord;
  /** What had been spent before the write. */
  readonly spent: Spent;
}

interface Refund {
  readonly attempt: number;
  readonly spent: Spent;
}

/** The causes of failures that a lost peer may have caused. */
const UNPROVEN: ReadonlySet<string> = new Set(['TRAINER_FAILED', 'TRAINER_CRASHED', 'SUPERVISOR_REFUSED', 'CANNOT_TELL']);

/** Whether a node was silent when an attempt ended, and called lost at most a minute later. */
function wasSilent(node: TrueNode | undefined, detectedAt: string | null): boolean {
  if (node === undefined) return false;
  const [silent, lost, ended] = [node.silentMs, node.lostMs, Date.parse(detectedAt ?? '')].map((ms) => Math.floor(ms / 1000));
  return silent !== undefined && lost !== undefined && ended !== undefined && silent <= ended && lost - ended <= 60;
}

/** Whether the pods of a job end together, by the documentation. */
function isGang({ annotations, spec }: JobShape): boolean {
  const chosen = annotations[ANNOTATIONS.restart];
  if (chosen !== undefined) return chosen === 'gang';
  return spec['elasticPolicy'] === undefined && spec['enableDynamicWorker'] === undefined && !JSON.stringify(spec).includes('"PS"');
}

/** What had been spent before a failure, which counts as an interruption now. */
function refundOf(known: Refund | undefined, now: Spent): Spent {
  return known === undefined ? now : refilled({ ...known.spent, interruptions: known.spent.interruptions + 1 }, now.furthest);
}

interface Loss {
  readonly name: string;
  readonly role: string;
  readonly body: Body | null;
  readonly injury: Injury;
  readonly outcome?: Charged;
}

function matches({ budgets }: RunRecord, spent: Spent): boolean {
  return (
    budgets.errors === spent.errors &&
    budgets.doubts === spent.doubts &&
    budgets.inARow === spent.inARow &&
    budgets.interruptions === spent.interruptions &&
    (budgets.same?.times ?? 0) === spent.times &&
    ((budgets.same?.trace.line ?? null) === null) === (spent.same === null)
  );
}

/** Whether the run continues, waits or ends as the rules say. */
function isOutcome({ before, after }: Written, { fails, delay }: Charged, isEnd: boolean): boolean {
  if (fails) return after.endedAt !== null && after.phase === 'Failed';
  if (after.endedAt !== null && before?.endedAt === null && after.phase === 'Failed') return false;
  if (!isEnd) return true;
  const detectedAt = after.attempts.at(-2)?.detectedAt ?? null;
  const waits = after.notBefore === null || detectedAt === null ? 0 : (Date.parse(after.notBefore) - Date.parse(detectedAt)) / 1000;
  return waits === delay;
}

function newReplacements(before: RunRecord | null, after: RunRecord): RunRecord['replacing'] {
  const known = new Set((before?.replacing ?? []).map(({ role, index, lostAt }) => `${role}/${index} ${lostAt}`));
  return after.replacing.filter(({ role, index, lostAt }) => !known.has(`${role}/${index} ${lostAt}`));
}

/**
 * The rules that may hold for a loss. The record tells of the pod that failed last whether its log
 * was read; of others that were charged in the same write, it may or may not have been.
 */
function rulesFor(
  job: TrueJob,
  { failure }: RunRecord,
  { attempt, loss }: { readonly attempt: number; readonly loss: Loss },
): readonly Rules[] {
  const isTold = failure !== null && failure.attempt === attempt && failure.pod === loss.name;
  const limit = numberAt(job.shape.spec, 'runPolicy', 'backoffLimit');
  const policy = policyOf(job, loss.role);
  return (isTold ? [failure.log !== null] : [false, true]).map((isLogKnown) => ({ policy, limit, isLogKnown }));
}

function policyOf({ shape }: TrueJob, role: string): string {
  return textAt(shape.spec, shape.kind.rolesField, role, 'restartPolicy') ?? '';
}

function startOf(record: RunRecord, attempt: number): string | null {
  return record.attempts.find(({ number }) => number === attempt)?.startedAt ?? null;
}

function isSuspended(job: ApiObject): boolean {
  return JSON.stringify(job['spec']).includes('"suspend":true');
}
