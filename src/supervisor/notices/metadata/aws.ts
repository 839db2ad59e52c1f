import { isArray, isObject, type Json, parseJson } from '../../../core/json.ts';
import type { Clock } from '../../../core/clock.ts';
import { excerpt } from '../../../core/printable.ts';
import type { Answer } from './answer.ts';
import { type Ask, instantOf, type MetadataService, type Told } from './service.ts';
import { nonsense, unreachable } from './trouble.ts';

const ROOT = '/latest/meta-data/';
const TTL_HEADER = 'x-aws-ec2-metadata-token-ttl-seconds';
const TTL_SECONDS = 21_600;
/** A token is renewed well before it ends. */
const USED_SHARE = 0.8;
const ANSWER_MS = 3000;

/** Reads `spot/instance-action`. */
export function readInstanceAction(text: string, nowMs: number): readonly Told[] {
  const value = jsonOf(text, 'instance-action');
  if (!isObject(value) || typeof value['action'] !== 'string') throw nonsense('instance-action names no action');
  const { action, time } = value;
  if (action !== 'terminate' && action !== 'stop' && action !== 'hibernate') throw nonsense(`instance-action is "${excerpt(action, 40)}"`);
  return [{ cause: 'aws-spot', deadlineMs: instantOf(time, nowMs), detail: `instance-action ${action}` }];
}

/** Reads `events/recommendations/rebalance`. */
export function readRebalance(text: string): readonly Told[] {
  const value = jsonOf(text, 'rebalance');
  if (!isObject(value) || typeof value['noticeTime'] !== 'string') throw nonsense('the rebalance recommendation has no time');
  return [{ cause: 'aws-rebalance', deadlineMs: null, detail: 'rebalance recommendation' }];
}

/** Reads `events/maintenance/scheduled`: of several events the next. */
export function readScheduled(text: string, nowMs: number): readonly Told[] {
  const value = jsonOf(text, 'scheduled maintenance');
  if (!isArray(value)) throw nonsense('scheduled maintenance is not a list');
  const coming = value.flatMap((event): Told[] => {
    if (!isObject(event) || (event['State'] !== undefined && event['State'] !== 'active')) return [];
    const detail = [event['Code'], event['EventId']].flatMap((part) => (typeof part === 'string' ? [excerpt(part, 60)] : [])).join(' ');
    return [{ cause: 'aws-maintenance', deadlineMs: instantOf(event['NotBefore'], nowMs), detail }];
  });
  return coming.toSorted((a, b) => (a.deadlineMs ?? Infinity) - (b.deadlineMs ?? Infinity)).slice(0, 1);
}

/** The metadata service of AWS, in version 2 (IMDSv2) alone: every question carries a token. */
export function openAws(ask: Ask, clock: Clock): MetadataService {
  let token: { readonly text: string; readonly untilMs: number } | null = null;
  let renewing: Promise<string> | null = null;

  /** All channels share one token, and wait for the same new one. */
  function tokenFor(signal: AbortSignal): Promise<string> {
    if (token !== null && clock.monotonic() < token.untilMs) return Promise.resolve(token.text);
    renewing ??= renew(signal).finally(() => (renewing = null));
    return renewing;
  }

  async function renew(signal: AbortSignal): Promise<string> {
    const headers = { [TTL_HEADER]: String(TTL_SECONDS) };
    const answer = await ask({ path: '/latest/api/token', method: 'PUT', headers, timeoutMs: ANSWER_MS }, signal);
    if (answer.status !== 200) throw unreachable(`status ${answer.status} for a token`);
    const text = answer.body.trim();
    // The token goes into a header, so it may hold only header characters.
    if (!/^[\x21-\x7e]{1,1000}$/.test(text)) throw nonsense('the token is invalid');
    token = { text, untilMs: clock.monotonic() + 1000 * USED_SHARE * secondsOf(answer) };
    return text;
  }

  /** Null: the service has nothing under this path. */
  async function get(path: string, signal: AbortSignal): Promise<string | null> {
    for (let isAgain = false; ; isAgain = true) {
      const used = await tokenFor(signal);
      const headers = { 'x-aws-ec2-metadata-token': used };
      const { status, body } = await ask({ path: ROOT + path, headers, timeoutMs: ANSWER_MS }, signal);
      if (status === 200) return body;
      if (status === 404) return null;
      if (status !== 401 || isAgain) throw unreachable(`status ${status}`);
      if (token?.text === used) token = null;
    }
  }

  async function told(path: string, signal: AbortSignal, read: (text: string, nowMs: number) => readonly Told[]): Promise<readonly Told[]> {
    const text = await get(path, signal);
    return text === null ? [] : read(text, clock.now());
  }

  return {
    async recognise(signal) {
      const id = await get('instance-id', signal);
      if (!/^i-[0-9a-f]{8,40}$/.test(id?.trim() ?? '')) throw nonsense('the instance has no id');
    },
    async nodeKind(signal) {
      return (await get('instance-life-cycle', signal))?.trim() === 'spot' ? 'ec2-spot' : null;
    },
    channels: [
      async (signal) => ({ told: await told('spot/instance-action', signal, readInstanceAction), isHeldBack: false }),
      async (signal) => ({ told: await told('events/recommendations/rebalance', signal, readRebalance), isHeldBack: false }),
      async (signal) => ({ told: await told('events/maintenance/scheduled', signal, readScheduled), isHeldBack: false }),
    ],
  };
}

/** How long a token lasts, as the service reports; one second by default. */
function secondsOf({ headers }: Answer): number {
  const text = headers.get(TTL_HEADER) ?? '';
  const seconds = /^\d{1,6}$/.test(text) ? Number(text) : 1;
  return Math.min(seconds, TTL_SECONDS);
}

function jsonOf(text: string, what: string): Json {
  const json = parseJson(text);
  if (!json.ok) throw nonsense(`${what} is not JSON`);
  return json.value;
}
