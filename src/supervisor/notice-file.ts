import { closeSync, openSync, readSync } from 'node:fs';
import type { Clock } from '../core/clock.ts';
import { isCause, makeNotice, type Notice } from '../domain/notice.ts';
import type { Notices } from './notices.ts';

/** As Kubernetes' downward API writes annotations into a file: one `key="value"` a line. */
const NOTICE_KEY = 'holdfast.dev/notice';
const DEADLINE_KEY = 'holdfast.dev/deadline';
const MAX_BYTES = 256 * 1024;
const POLL_MS = 1000;

/**
 * What the file says: a cause that holdfast knows, and when the end comes where that is said too; null when it says nothing. A cause nobody
 * knows is a complaint.
 */
export function readNotice(text: string, nowMs: number): { readonly notice: Notice | null; readonly complaint: string | null } {
  const values = new Map([...text.matchAll(/^([^\s=]+)="((?:[^"\\]|\\.)*)"$/gm)].map(([, key = '', value = '']) => [key, value] as const));
  const cause = values.get(NOTICE_KEY) ?? '';
  if (cause === '') return { notice: null, complaint: null };
  if (!isCause(cause)) return { notice: null, complaint: `${NOTICE_KEY}="${cause.slice(0, 40)}" is not a cause that is known` };
  const deadline = Date.parse(values.get(DEADLINE_KEY) ?? '');
  const facts = { cause, atMs: nowMs, source: 'watched-file' as const };
  return { notice: makeNotice(Number.isNaN(deadline) ? facts : { ...facts, deadlineMs: deadline }), complaint: null };
}

/** Looks at the file every second until `signal` is aborted. A file that is not there says nothing: it may come. */
export async function watchNoticeFile(
  path: string,
  { notices, clock, signal, complain }: { notices: Notices; clock: Clock; signal: AbortSignal; complain: (text: string) => void },
): Promise<void> {
  let seen = '';
  let last: Notice | null = null;
  while (!signal.aborted) {
    const text = readBounded(path);
    if (text !== seen) {
      seen = text;
      const { notice, complaint } = readNotice(text, clock.now());
      if (complaint !== null) complain(`${path}: ${complaint}`);
      if (notice !== null) notices.add(notice);
      else if (last !== null) notices.withdraw(last);
      last = notice;
    }
    try {
      await clock.sleep(POLL_MS, { signal });
    } catch {
      return;
    }
  }
}

function readBounded(path: string): string {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch {
    return '';
  }
  try {
    const buffer = Buffer.alloc(MAX_BYTES);
    return buffer.toString('utf8', 0, readSync(file, buffer));
  } catch {
    return '';
  } finally {
    closeSync(file);
  }
}
