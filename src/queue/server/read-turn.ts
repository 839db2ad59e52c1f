import type { LeaseTimes } from '../../domain/queue/lease-times.ts';
import { parseQueueName } from '../../domain/queue/names.ts';
import type { LeaseRef, Session, Turn, TurnAnswer } from '../backend.ts';
import { countField, type Fields, flagField, jsonField, listField, textField } from './fields.ts';
import { RequestError } from './request-error.ts';

/** The sizes that a server accepts. */
export interface SizeLimits {
  /** Of a value, a result or a progress, in characters. */
  readonly itemLength: number;
  /** Of a body that is one JSON document, in bytes. */
  readonly bodyBytes: number;
}

const MOST_LEASES = 1000;
const LONGEST_WAIT_S = 60;
const NAME_LENGTH = 200;
const ERROR_LENGTH = 8000;

/** A request of a worker, as it came. */
export interface TurnRequest {
  readonly turn: Omit<Turn, 'queue' | 'lease'>;
  readonly most: number;
  /** The server may lease fewer, as the weather says. */
  readonly isFitted: boolean;
  readonly waitMs: number;
}

/** Reads the body of a turn. */
export function readTurn(fields: Fields, { itemLength }: SizeLimits): TurnRequest {
  const { session, lease } = fields;
  if (!isFields(session)) throw new RequestError(400, '"session" is not an object');
  if (lease !== undefined && !isFields(lease)) throw new RequestError(400, '"lease" is not an object');
  const notice = fields['notice'] ?? null;
  return {
    turn: {
      session: readSession(session),
      commits: listField(fields, 'commits', MOST_LEASES).map((one) => ({
        ...readRef(one),
        generation: countField(one, 'generation'),
        result: jsonField(one, 'result', itemLength),
      })),
      fails: listField(fields, 'fails', MOST_LEASES).map((one) => ({ ...readRef(one), error: textField(one, 'error', ERROR_LENGTH) })),
      releases: listField(fields, 'releases', MOST_LEASES).map((one) => ({
        ...readRef(one),
        spentMs: countField(one, 'spentMs', { otherwise: 0, most: Number.MAX_SAFE_INTEGER }),
      })),
      progress: listField(fields, 'progress', MOST_LEASES).map((one) => ({ ...readRef(one), state: jsonField(one, 'state', itemLength) })),
      notice: notice === null ? null : textField(fields, 'notice', NAME_LENGTH),
    },
    most: lease === undefined ? 0 : Math.min(MOST_LEASES, countField(lease, 'most')),
    isFitted: lease !== undefined && flagField(lease, 'fit'),
    waitMs: 1000 * Math.min(LONGEST_WAIT_S, countField(fields, 'waitSeconds', { otherwise: 0 })),
  };
}

/** The answer to a turn, as the protocol tells it. */
export function writeTurn(
  { commits, held, leases, isDrained, isPaused }: TurnAnswer,
  { itemLength }: SizeLimits,
  times: LeaseTimes,
): object {
  return { commits, held, leases, drained: isDrained, paused: isPaused, itemLength, ...times };
}

/** Reads the name of a queue. */
export function readQueue(name: string): string {
  const queue = parseQueueName(name);
  if (!queue.ok) throw new RequestError(400, queue.reason);
  return queue.value;
}

/** Reads who speaks. */
export function readSession(fields: Fields): Session {
  const id = textField(fields, 'id', NAME_LENGTH);
  if (id.length < 8) throw new RequestError(400, 'the id of a session has at least 8 characters, so that no two workers choose the same');
  return { id, node: textField(fields, 'node', NAME_LENGTH), process: textField(fields, 'process', NAME_LENGTH) };
}

/** Reads which leases a worker believes to hold. */
export function readRefs(fields: Fields): readonly LeaseRef[] {
  return listField(fields, 'leases', MOST_LEASES).map(readRef);
}

function readRef(fields: Fields): LeaseRef {
  return { item: countField(fields, 'item', { most: Number.MAX_SAFE_INTEGER }), token: countField(fields, 'token') };
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
