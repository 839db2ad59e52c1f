import { HoldfastError } from '../../core/errors.ts';
import { isObject, parseJson } from '../../core/json.ts';
import { printable } from '../../core/printable.ts';
import { COPY_SCHEMA } from '../../store/folder/store.ts';
import type { ObjectStore } from '../backends/backend.ts';
import { isTooLong, notOurs } from '../backends/remote-error.ts';
import { ATTEMPT_NUMBERS, readAttemptRun } from './attempt-record.ts';
import { listCopies, placeOf } from './list-copies.ts';
import { POINTER_KEY, readPointer } from './pointer.ts';

const RUN_KEY = '.holdfast/run.json';
const MAX_BYTES = 64 * 1024;
/** Objects that only a run leaves below its prefix. */
const OWN_FOLDERS = [ATTEMPT_NUMBERS, '.holdfast/names/', '.holdfast/rollback.json', POINTER_KEY];

/** What the objects below a prefix say about the run that it belongs to. */
export interface OwnerEvidence {
  /** The run in run.json; null when the file is missing. */
  readonly told: string | null;
  /** The run that the pointer names; null without a readable pointer. */
  readonly pointer: string | null;
  /** The runs that the manifests of whole copies name. */
  readonly copies: ReadonlySet<string>;
  /** The run that the newest attempt number names. */
  readonly attempt: string | null;
  /** Whether there are objects that only a run leaves. */
  readonly isUsed: boolean;
}

/** The run that a prefix belongs to (null for none), or why it is unknown. */
export type OwnerVerdict = { readonly owner: string | null } | { readonly problem: string };

/**
 * Decides which run owns a prefix. A missing run.json proves nothing: it is the oldest object, so a
 * lifecycle rule may have deleted it. The copies count first, then the pointer, then the attempt
 * numbers.
 */
export function judgeOwner(evidence: OwnerEvidence): OwnerVerdict {
  const { told } = evidence;
  return told === null ? judgeUntold(evidence) : judgeTold(told, evidence);
}

function judgeTold(told: string, { pointer, copies, attempt }: OwnerEvidence): OwnerVerdict {
  const says = `its run.json names the run ${told}`;
  if (copies.has(told)) {
    const isShared = pointer !== null && pointer !== told && copies.has(pointer);
    return isShared ? { problem: `${says}, its pointer the run ${pointer}, and both have copies there` } : { owner: told };
  }
  const [only] = copies;
  if (only !== undefined) return { problem: `${says}, but the copies are those of the run ${only}` };
  const other = [pointer, attempt].find((run) => run !== null && run !== told);
  return other === undefined ? { owner: told } : { problem: `${says}, but the run ${other} has run there` };
}

function judgeUntold({ pointer, copies, attempt, isUsed }: OwnerEvidence): OwnerVerdict {
  if (copies.size > 1) {
    if (pointer !== null && copies.has(pointer)) return { owner: pointer };
    return { problem: `its run.json is missing, and ${copies.size} runs have copies there` };
  }
  const [only = pointer ?? attempt] = copies;
  if (only === null && isUsed) return { problem: 'its run.json is missing; a run has shipped there, but nothing names it' };
  return { owner: only };
}

/**
 * Finds the run that owns a prefix; null while it has no owner. Throws REMOTE_CONFLICT when a run
 * lives there and nothing proves which: a fresh start would lose its progress.
 */
export async function findOwner(remote: ObjectStore): Promise<string | null> {
  const told = await readRunFile(remote);
  const pointer = (await readPointer(remote))?.pointer?.run ?? null;
  if (told !== null && pointer === told) return told;
  const verdict = judgeOwner({ told, pointer, ...(await survey(remote)) });
  if ('owner' in verdict) return verdict.owner;
  // Another node may have taken the prefix while it was surveyed.
  const since = told === null ? await readRunFile(remote) : null;
  if (since !== null) return since;
  throw new HoldfastError('REMOTE_CONFLICT', {
    message: `the owner of the copies at ${printable(remote.url)} is unknown: ${printable(verdict.problem)}`,
    hint: `Nothing was changed there. Remove the objects that do not belong to the run${told === null ? '' : ` (Holdfast creates ${RUN_KEY} again from the copies)`}, or give the run another prefix. A lifecycle rule must not delete .holdfast/.`,
  });
}

/**
 * Takes the prefix for the run, and makes a missing run.json again. Refuses a prefix of another
 * run.
 */
export async function claimPrefix(remote: ObjectStore, run: string): Promise<void> {
  const owner = await findOwner(remote);
  if (owner !== null) assertOwner(remote, owner, run);
  const bytes = Buffer.from(`${JSON.stringify({ schema: COPY_SCHEMA, run })}\n`);
  if ((await readRunFile(remote)) === null && (await remote.create(RUN_KEY, bytes)).isWritten) return;
  const told = await readRunFile(remote);
  if (told === null) throw notOurs(remote, RUN_KEY);
  assertOwner(remote, told, run);
}

/** Refuses a prefix of another run. */
export function assertOwner(remote: ObjectStore, owner: string, run: string): void {
  if (owner === run) return;
  throw new HoldfastError('REMOTE_CONFLICT', {
    message: `${printable(remote.url)} belongs to the run ${printable(owner)}, not to ${printable(run)}`,
    hint: 'Give every run a prefix of its own.',
  });
}

/** The run that run.json names; null when it is missing. */
async function readRunFile(remote: ObjectStore): Promise<string | null> {
  const found = await readSmall(remote);
  if (found === null) return null;
  const json = parseJson(found.bytes.toString('utf8'));
  const { schema, run } = json.ok && isObject(json.value) ? json.value : {};
  if (schema !== COPY_SCHEMA || typeof run !== 'string' || run === '' || run.length > 200) throw notARun(remote);
  return run;
}

async function readSmall(remote: ObjectStore): ReturnType<ObjectStore['read']> {
  try {
    return await remote.read(RUN_KEY, MAX_BYTES);
  } catch (thrown) {
    throw isTooLong(thrown) ? notARun(remote) : thrown;
  }
}

function notARun(remote: ObjectStore): HoldfastError {
  return new HoldfastError('REMOTE_INVALID', {
    message: notOurs(remote, RUN_KEY).message,
    hint: 'If the copies there are of this run, delete this object: Holdfast creates it again from the copies. Otherwise use another prefix.',
  });
}

async function survey(remote: ObjectStore): Promise<Pick<OwnerEvidence, 'copies' | 'attempt' | 'isUsed'>> {
  let isUsed = false;
  for await (const { key } of remote.list('')) {
    isUsed ||= placeOf(key) !== null || OWN_FOLDERS.some((own) => key.startsWith(own));
    if (isUsed) break;
  }
  if (!isUsed) return { copies: new Set(), attempt: null, isUsed };
  const copies = new Set((await listCopies(remote, () => {})).map(({ run }) => run));
  return { copies, attempt: copies.size > 0 ? null : await readAttemptRun(remote), isUsed };
}
