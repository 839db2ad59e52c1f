import { constants } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { bounded } from '../../core/bounded.ts';
import type { Clock } from '../../core/clock.ts';
import { formatDuration, parseDuration } from '../../core/duration.ts';
import { systemCode } from '../../core/errors.ts';
import { excerpt, printable } from '../../core/printable.ts';
import type { GraceLimit, NodeKind } from '../../domain/grace/effective-grace.ts';
import { isCause, makeNotice, type Notice } from '../../domain/grace/notice.ts';
import { instantOf } from './metadata/service.ts';
import type { Notices } from './notices.ts';
import type { NodeFacts } from './node-facts.ts';

/**
 * The keys in a file as Kubernetes' downward API writes annotations and labels: one `key="value"` a
 * line.
 */
const NOTICE_KEY = 'holdfast.dev/notice';
const DEADLINE_KEY = 'holdfast.dev/deadline';
const GRACE_KEY = 'holdfast.dev/grace';
const MAX_BYTES = 256 * 1024;
const POLL_MS = 1000;

/** Labels by which clouds and autoscalers mark machines that can be taken away. */
const NODE_LABELS: readonly { readonly key: string; readonly value: RegExp; readonly kind: NodeKind }[] = [
  { key: 'cloud.google.com/gke-spot', value: /^true$/, kind: 'gke-spot' },
  { key: 'cloud.google.com/gke-preemptible', value: /^true$/, kind: 'gke-spot' },
  { key: 'eks.amazonaws.com/capacityType', value: /^SPOT$/i, kind: 'ec2-spot' },
  { key: 'kubernetes.azure.com/scalesetpriority', value: /^spot$/i, kind: 'azure-spot' },
];

/** The content of the file; missing values are null or empty. */
export interface FileWord {
  readonly notice: Notice | null;
  /**
   * The notice as text. The same text again, after a change elsewhere in the file, is no new
   * notice.
   */
  readonly said: string;
  readonly node: NodeKind | null;
  readonly limits: readonly GraceLimit[];
  /** One sentence for each value that Holdfast does not understand. */
  readonly complaints: readonly string[];
}

const SILENCE: FileWord = { notice: null, said: '', node: null, limits: [], complaints: [] };

/** Reads the content of a notice file. */
export function readNoticeFile(text: string, nowMs: number): FileWord {
  const values = new Map([...text.matchAll(/^([^\s=]+)="((?:[^"\\]|\\.)*)"$/gm)].map(([, key = '', value = '']) => [key, value] as const));
  const { notice, complaint } = noticeOf(values, nowMs);
  const grace = graceOf(values.get(GRACE_KEY) ?? '');
  return {
    notice,
    said: `${values.get(NOTICE_KEY)} ${values.get(DEADLINE_KEY)}`,
    node: NODE_LABELS.find(({ key, value }) => value.test(values.get(key) ?? ''))?.kind ?? null,
    limits: grace.limits,
    complaints: [complaint, grace.complaint].filter((sentence) => sentence !== null),
  };
}

/** Reads a known cause, and the deadline if the file has one. */
function noticeOf(
  values: ReadonlyMap<string, string>,
  nowMs: number,
): { readonly notice: Notice | null; readonly complaint: string | null } {
  const cause = values.get(NOTICE_KEY) ?? '';
  if (cause === '') return { notice: null, complaint: null };
  if (!isCause(cause)) return { notice: null, complaint: `${NOTICE_KEY}="${excerpt(cause, 40)}" is not a known cause` };
  const facts = { cause, atMs: nowMs, source: 'watched-file' as const };
  const deadline = values.get(DEADLINE_KEY) ?? '';
  if (deadline === '') return { notice: makeNotice(facts), complaint: null };
  const deadlineMs = instantOf(deadline, nowMs);
  if (deadlineMs !== null) return { notice: makeNotice({ ...facts, deadlineMs }), complaint: null };
  const rule = 'is not a time of RFC 3339 between a minute ago and a year from now: the grace counts';
  return { notice: makeNotice(facts), complaint: `${DEADLINE_KEY}="${excerpt(deadline, 40)}" ${rule}` };
}

function graceOf(text: string): { readonly limits: readonly GraceLimit[]; readonly complaint: string | null } {
  if (text === '') return { limits: [], complaint: null };
  const grace = parseDuration(text);
  if (!grace.ok) return { limits: [], complaint: `${GRACE_KEY}: ${grace.reason}` };
  return { limits: [{ graceMs: grace.value, reason: `the annotation ${GRACE_KEY} says ${formatDuration(grace.value)}` }], complaint: null };
}

/** What the watch of a notice file works with. */
export interface NoticeFileWorld {
  readonly notices: Notices;
  readonly surroundings: NodeFacts;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly complain: (text: string) => void;
}

/** How long to wait for the file system at the start. */
const ANSWER_MS = 2000;

/**
 * Why no notice can come from this path, with the path; null when nothing is wrong. A file that
 * does not exist yet is no problem.
 */
export async function noticeFileProblem(path: string, clock: Clock): Promise<string | null> {
  const answer = await bounded(
    findProblem(path).then((problem) => ({ problem })),
    ANSWER_MS,
    clock,
  );
  return answer === null ? `${printable(path)} does not respond: no notice is read from it until it does` : answer.problem;
}

async function findProblem(path: string): Promise<string | null> {
  const folder = dirname(resolve(path));
  const [place, file] = [printable(folder), printable(path)];
  try {
    const found = await kindOf(folder);
    if (found === 'none') return `the folder ${place} does not exist: no notice is read from ${file} until it does`;
    if (found !== 'folder') return `${place} is not a folder: no notice can be read from ${file}`;
    return (await kindOf(path)) === 'folder' ? `${file} is a folder: no notice can be read from it` : null;
  } catch (thrown) {
    return `${file} cannot be read (${systemCode(thrown) ?? String(thrown)}): no notice is read from it`;
  }
}

async function kindOf(path: string): Promise<'none' | 'folder' | 'other'> {
  try {
    return (await stat(path)).isDirectory() ? 'folder' : 'other';
  } catch (thrown) {
    if (systemCode(thrown) === 'ENOENT' || systemCode(thrown) === 'ENOTDIR') return 'none';
    throw thrown;
  }
}

/**
 * Reads the file every second until `signal` is aborted. A missing file counts as empty, because it
 * may appear later. A file system that does not answer blocks one thread of the runtime and nothing
 * else; there is never a second read meanwhile.
 */
export async function watchNoticeFile(path: string, { notices, surroundings, clock, signal, complain }: NoticeFileWorld): Promise<void> {
  const buffer = Buffer.alloc(MAX_BYTES);
  let seen = '';
  let last = SILENCE;
  while (!signal.aborted) {
    const text = await readBounded(path, buffer);
    if (signal.aborted) return;
    if (text !== seen) {
      seen = text;
      const word = readNoticeFile(text, clock.now());
      // The facts come before the notice, because they shorten its grace.
      surroundings.noteNode('watched-file', word.node);
      surroundings.noteLimits(word.limits);
      for (const complaint of word.complaints) if (!last.complaints.includes(complaint)) complain(`${path}: ${complaint}`);
      if (word.notice !== null && word.said !== last.said) notices.add(word.notice);
      if (last.notice !== null && last.notice.cause !== word.notice?.cause) notices.withdraw(last.notice);
      last = word;
    }
    try {
      await clock.sleep(POLL_MS, { signal });
    } catch {
      return;
    }
  }
}

/**
 * How the file is opened: a FIFO without a writer reads as empty, and a terminal does not become
 * ours.
 */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

async function readBounded(path: string, buffer: Buffer): Promise<string> {
  try {
    const file = await open(path, FLAGS);
    try {
      const { bytesRead } = await file.read(buffer, 0, buffer.length, null);
      return buffer.toString('utf8', 0, bytesRead);
    } finally {
      await file.close();
    }
  } catch {
    return '';
  }
}
