import { closeSync, constants, openSync, readSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Clock } from '../core/clock.ts';
import { formatDuration, parseDuration } from '../core/duration.ts';
import { systemCode } from '../core/errors.ts';
import { excerpt, printable } from '../core/printable.ts';
import type { GraceLimit, NodeKind } from '../domain/effective-grace.ts';
import { isCause, makeNotice, type Notice } from '../domain/notice.ts';
import { instantOf } from './metadata/service.ts';
import type { Notices } from './notices.ts';
import type { Surroundings } from './surroundings.ts';

/** As Kubernetes' downward API writes annotations and labels into a file: one `key="value"` a line. */
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

/** What the file says; what it does not say is null or empty. */
export interface FileWord {
  readonly notice: Notice | null;
  /** The notice as it stands there. Said again, while something else in the file changes, it is no new one. */
  readonly said: string;
  readonly node: NodeKind | null;
  readonly limits: readonly GraceLimit[];
  /** What nobody knows, as a sentence each. */
  readonly complaints: readonly string[];
}

const SILENCE: FileWord = { notice: null, said: '', node: null, limits: [], complaints: [] };

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

/** A cause that holdfast knows, and when the end comes where that is said too. */
function noticeOf(
  values: ReadonlyMap<string, string>,
  nowMs: number,
): { readonly notice: Notice | null; readonly complaint: string | null } {
  const cause = values.get(NOTICE_KEY) ?? '';
  if (cause === '') return { notice: null, complaint: null };
  if (!isCause(cause)) return { notice: null, complaint: `${NOTICE_KEY}="${excerpt(cause, 40)}" is not a cause that is known` };
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

export interface NoticeFileWorld {
  readonly notices: Notices;
  readonly surroundings: Surroundings;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly complain: (text: string) => void;
}

/** Why no word may ever come from there, with the place; null where nothing is wrong. That the file is not there yet is no problem. */
export function noticeFileProblem(path: string): string | null {
  const folder = dirname(resolve(path));
  const [place, file] = [printable(folder), printable(path)];
  try {
    const found = statSync(folder, { throwIfNoEntry: false });
    if (found === undefined) return `the folder ${place} does not exist: nothing is heard from ${file} until it does`;
    if (!found.isDirectory()) return `${place} is not a folder: nothing can be heard from ${file}`;
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true ? `${file} is a folder: nothing can be heard from it` : null;
  } catch (thrown) {
    return `${file} cannot be looked at (${systemCode(thrown) ?? String(thrown)}): nothing is heard from it`;
  }
}

/** Looks at the file every second until `signal` is aborted. A file that is not there says nothing: it may come. */
export async function watchNoticeFile(path: string, { notices, surroundings, clock, signal, complain }: NoticeFileWorld): Promise<void> {
  const buffer = Buffer.alloc(MAX_BYTES);
  let seen = '';
  let last = SILENCE;
  while (!signal.aborted) {
    const text = readBounded(path, buffer);
    if (text !== seen) {
      seen = text;
      const word = readNoticeFile(text, clock.now());
      // Before the notice, whose grace they shorten.
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

function readBounded(path: string, buffer: Buffer): string {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch {
    return '';
  }
  try {
    return buffer.toString('utf8', 0, readSync(file, buffer));
  } catch {
    return '';
  } finally {
    closeSync(file);
  }
}
