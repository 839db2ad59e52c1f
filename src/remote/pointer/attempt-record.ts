import { isObject, parseJson } from '../../core/json.ts';
import type { ObjectStore } from '../backends/backend.ts';
import { MAX_ATTEMPT } from './pointer.ts';

/** Where the attempt numbers of a run lie below its prefix, one object each. */
export const ATTEMPT_NUMBERS = '.holdfast/attempt-numbers/';
const NUMBER = /^([1-9]\d{0,14})\.json$/;
const MAX_BYTES = 64 * 1024;

/** What is known of an attempt whose number was taken. */
export interface AttemptRecord {
  readonly attempt: number;
  readonly gang: string;
  readonly run: string;
}

/** The object of an attempt number. */
export function attemptKey(attempt: number): string {
  return `${ATTEMPT_NUMBERS}${attempt}.json`;
}

/** The text of the object of an attempt number. */
export function formatAttempt({ attempt, gang, run }: AttemptRecord): string {
  return `${JSON.stringify({ attempt, gang, run })}\n`;
}

/** The newest attempt number that was taken below the prefix; 0 when there is none. */
export async function newestTaken(remote: ObjectStore): Promise<number> {
  let newest = 0;
  for await (const { key } of remote.list(ATTEMPT_NUMBERS)) {
    const number = Number(NUMBER.exec(key.slice(ATTEMPT_NUMBERS.length))?.[1] ?? 0);
    if (number <= MAX_ATTEMPT) newest = Math.max(newest, number);
  }
  return newest;
}

/** The run that the newest attempt number names; null when there is none, or it names none. */
export async function readAttemptRun(remote: ObjectStore): Promise<string | null> {
  const newest = await newestTaken(remote);
  const found = newest === 0 ? null : await remote.read(attemptKey(newest), MAX_BYTES);
  const json = found === null ? null : parseJson(found.bytes.toString('utf8'));
  const run = json?.ok === true && isObject(json.value) ? json.value['run'] : null;
  return typeof run === 'string' && run !== '' && run.length <= 200 ? run : null;
}
