import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../../core/clock.ts';
import { HoldfastError } from '../../core/errors.ts';
import { excerpt } from '../../core/printable.ts';
import type { QueueBackend, Step } from '../backend.ts';
import { type Access, requireOwner, type Role, roleOf } from './access.ts';
import type { Batcher } from './batcher.ts';
import { countField, type Fields, flagField, textField } from './fields.ts';
import { metricsPage, type ServerFigures } from './metrics.ts';
import { textLines } from '../text-lines.ts';
import { bodyPieces, readJson } from './read-body.ts';
import { readQueue, readRefs, readSession, readTurn, type SizeLimits, writeTurn } from './read-turn.ts';
import { receiveItems } from './receive-items.ts';
import { RequestError, sendJson } from './request-error.ts';
import { sendLines } from './send-lines.ts';
import type { Sessions } from './sessions.ts';
import type { TurnDesk } from './turn-desk.ts';
import { TurnStream } from './turn-stream.ts';
import type { Waiters } from './waiters.ts';
import type { LeaseRef, Renewal } from '../backend.ts';
import type { LeaseTimes } from '../../domain/queue/lease-times.ts';

/** What the routes serve with. */
export interface RouteOptions {
  readonly backend: QueueBackend;
  readonly access: Access;
  readonly limits: SizeLimits;
  readonly clock: Clock;
  readonly times: LeaseTimes;
  readonly desk: TurnDesk;
  readonly renewals: Batcher<Renewal, readonly LeaseRef[]>;
  readonly sessions: Sessions;
  readonly waiters: Waiters;
  readonly figures: () => ServerFigures;
  /** Counts the turns of a stream as requests. */
  readonly onTurn: () => void;
  /** Counts an error, and reports it if it needs a person. */
  readonly onError: (error: unknown) => void;
  readonly onGone: (session: string) => void;
}

/** One request. */
interface Call {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly role: Role;
  readonly query: URLSearchParams;
  /** The variable parts of the path. */
  readonly parts: readonly string[];
}

type Handler = (options: RouteOptions, call: Call) => Promise<void>;

interface Route {
  readonly method: 'GET' | 'POST';
  readonly path: RegExp;
  readonly handle: Handler;
}

const PAGE = 500;
const STEP = 2000;
/** Requests without items in them are small. */
const SMALL_BODY = 64 * 1024;
/** Made once: an error of its own for each request costs more than its answer. */
const CLOSED = new Error('the connection is closed');
/** A line of a push holds a value as JSON text in JSON: every character may take six. */
const LINE_FACTOR = 6;

/** The commonest first. */
const ROUTES: readonly Route[] = [
  { method: 'POST', path: /^\/v1\/queues\/([^/]+)\/turn$/, handle: takeTurn },
  { method: 'POST', path: /^\/v1\/renew$/, handle: renew },
  { method: 'POST', path: /^\/v1\/turns$/, handle: (options, { request, response }) => new TurnStream(options, response).answer(request) },
  { method: 'GET', path: /^\/metrics$/, handle: metrics },
  { method: 'GET', path: /^\/v1\/queues$/, handle: listQueues },
  { method: 'GET', path: /^\/v1\/queues\/([^/]+)$/, handle: showQueue },
  { method: 'POST', path: /^\/v1\/queues\/([^/]+)\/items$/, handle: pushItems },
  { method: 'GET', path: /^\/v1\/queues\/([^/]+)\/items\/([^/]+)$/, handle: showItem },
  { method: 'GET', path: /^\/v1\/queues\/([^/]+)\/results$/, handle: sendResults },
  { method: 'GET', path: /^\/v1\/queues\/([^/]+)\/failed$/, handle: sendFailed },
  { method: 'POST', path: /^\/v1\/queues\/([^/]+)\/retry$/, handle: retry },
  { method: 'POST', path: /^\/v1\/queues\/([^/]+)\/cancel$/, handle: cancel },
  { method: 'POST', path: /^\/v1\/queues\/([^/]+)\/(pause|resume)$/, handle: pause },
  { method: 'POST', path: /^\/v1\/queues\/([^/]+)\/drop$/, handle: drop },
  { method: 'GET', path: /^\/v1\/sessions\/([^/]+)$/, handle: holdSession },
  { method: 'POST', path: /^\/v1\/sessions\/([^/]+)\/gone$/, handle: sessionGone },
];

/** A path that needs no parser: without a query, an escape or a step back. */
const PLAIN_PATH = /^(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)+$/;

/** Finds the route of a request and lets it answer. */
export async function answerRequest(options: RouteOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { path, query } = addressOf(request.url ?? '/');
  if (path === '/healthz') {
    await options.backend.queues();
    response.writeHead(200, { 'content-type': 'text/plain' });
    response.end('ok\n');
    return;
  }
  const role = roleOf(request, options.access);
  for (const route of ROUTES) {
    const found = route.method === request.method ? route.path.exec(path) : null;
    if (found !== null) return route.handle(options, { request, response, role, query, parts: found.slice(1).map(decoded) });
  }
  const status = ROUTES.some((route) => route.path.test(path)) ? 405 : 404;
  throw new RequestError(status, `there is nothing at ${request.method ?? ''} ${excerpt(path, 80)}`);
}

function addressOf(address: string): { readonly path: string; readonly query: URLSearchParams } {
  if (PLAIN_PATH.test(address)) return { path: address, query: new URLSearchParams() };
  const url = URL.parse(address, 'http://queue');
  if (url === null) throw new RequestError(400, 'the address is not understood');
  return { path: url.pathname, query: url.searchParams };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new RequestError(400, 'the address is not understood');
  }
}

function queueOf({ parts: [name = ''] }: Call): string {
  return readQueue(name);
}

function body({ clock }: RouteOptions, { request }: Call): Promise<Fields> {
  return readJson(request, SMALL_BODY, clock);
}

async function metrics({ backend, figures }: RouteOptions, { response }: Call): Promise<void> {
  const statuses = await Promise.all((await backend.queues()).slice(0, 1000).map((queue) => backend.status(queue)));
  response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' });
  response.end(metricsPage(statuses, figures()));
}

async function listQueues({ backend }: RouteOptions, { response }: Call): Promise<void> {
  sendJson(response, 200, { queues: await backend.queues() });
}

async function showQueue({ backend }: RouteOptions, call: Call): Promise<void> {
  const { queue, isPaused, total, counts, ...status } = await backend.status(queueOf(call));
  const open = counts.ready + counts.delayed + counts.leased;
  sendJson(call.response, 200, { queue, isPaused, total, open, counts, ...status });
}

async function pushItems({ backend, limits, clock, waiters }: RouteOptions, call: Call): Promise<void> {
  requireOwner(call.role);
  const queue = queueOf(call);
  const lines = textLines(bodyPieces(call.request, clock), limits.itemLength * LINE_FACTOR + 10_000);
  const summary = await receiveItems(backend, queue, { lines, itemLength: limits.itemLength });
  waiters.wake(queue);
  sendJson(call.response, 200, summary);
}

async function showItem({ backend }: RouteOptions, call: Call): Promise<void> {
  requireOwner(call.role);
  const key = call.parts[1] ?? '';
  const story = await backend.story(queueOf(call), key);
  if (story === null) throw new HoldfastError('QUEUE_ITEM_UNKNOWN', { message: `the queue has no item "${excerpt(key, 80)}"` });
  sendJson(call.response, 200, story);
}

async function sendResults({ backend }: RouteOptions, call: Call): Promise<void> {
  requireOwner(call.role);
  const asked = call.query.get('generation');
  if (asked !== null && !/^[1-9]\d{0,8}$/.test(asked)) throw new RequestError(400, '"generation" is not a whole number from 1');
  const generation = asked === null ? null : Number(asked);
  const queue = queueOf(call);
  await sendLines(call.response, (after) => backend.results(queue, { after, limit: PAGE, generation }));
}

async function sendFailed({ backend }: RouteOptions, call: Call): Promise<void> {
  requireOwner(call.role);
  const queue = queueOf(call);
  await sendLines(call.response, (after) => backend.failed(queue, { after, limit: PAGE }));
}

async function takeTurn({ desk, limits, clock, times }: RouteOptions, call: Call): Promise<void> {
  const request = readTurn(await readJson(call.request, limits.bodyBytes, clock), limits);
  const gone = new AbortController();
  call.response.once('close', () => gone.abort(CLOSED));
  const answer = await desk.take(queueOf(call), request, gone.signal);
  sendJson(call.response, 200, writeTurn(answer, limits, times));
}

async function renew({ renewals, limits, clock }: RouteOptions, { request, response }: Call): Promise<void> {
  const fields = await readJson(request, limits.bodyBytes, clock);
  const lost = await renewals.add({ session: textField(fields, 'session', 200), leases: readRefs(fields) });
  sendJson(response, 200, { lost: lost.map(({ item, token }) => ({ item, token })) });
}

async function holdSession({ sessions }: RouteOptions, { response, parts: [id = ''], query }: Call): Promise<void> {
  await sessions.hold(readSession({ id, node: query.get('node') ?? '', process: query.get('process') ?? '' }), response);
}

/** A supervisor of the workers knows that one is gone, and why. */
async function sessionGone(options: RouteOptions, call: Call): Promise<void> {
  requireOwner(call.role);
  const [id = ''] = call.parts;
  const { woken } = await options.backend.explain(id, textField(await body(options, call), 'notice', 200), true);
  options.onGone(id);
  for (const queue of woken) options.waiters.wake(queue);
  sendJson(call.response, 200, {});
}

async function retry(options: RouteOptions, call: Call): Promise<void> {
  requireOwner(call.role);
  const queue = queueOf(call);
  const fields = await body(options, call);
  const what = { key: keyOf(fields), isNewGeneration: flagField(fields, 'newGeneration'), isWithCancelled: flagField(fields, 'cancelled') };
  await requireItem(options, queue, what.key);
  const changed = await inSteps(fields, (page) => options.backend.retry(queue, { ...what, page }));
  options.waiters.wake(queue);
  sendJson(call.response, 200, { changed });
}

async function cancel(options: RouteOptions, call: Call): Promise<void> {
  requireOwner(call.role);
  const queue = queueOf(call);
  const fields = await body(options, call);
  await requireItem(options, queue, keyOf(fields));
  const changed = await inSteps(fields, (page) => options.backend.cancel(queue, keyOf(fields), page));
  options.waiters.wake(queue);
  sendJson(call.response, 200, { changed });
}

async function pause({ backend, waiters }: RouteOptions, call: Call): Promise<void> {
  requireOwner(call.role);
  const isPaused = call.parts[1] === 'pause';
  await backend.setPaused(queueOf(call), isPaused);
  if (!isPaused) waiters.wake(queueOf(call));
  sendJson(call.response, 200, { paused: isPaused });
}

async function drop({ backend, waiters }: RouteOptions, call: Call): Promise<void> {
  requireOwner(call.role);
  await backend.drop(queueOf(call));
  waiters.wake(queueOf(call));
  sendJson(call.response, 200, {});
}

function keyOf(fields: Fields): string | null {
  return fields['key'] === undefined || fields['key'] === null ? null : textField(fields, 'key', 1000);
}

async function requireItem({ backend }: RouteOptions, queue: string, key: string | null): Promise<void> {
  if (key === null || (await backend.story(queue, key)) !== null) return;
  throw new HoldfastError('QUEUE_ITEM_UNKNOWN', { message: `the queue has no item "${excerpt(key, 80)}"` });
}

async function inSteps(fields: Fields, step: (page: { readonly after: number; readonly limit: number }) => Promise<Step>): Promise<number> {
  let changed = 0;
  let next: number | null = countField(fields, 'after', { otherwise: 0, most: Number.MAX_SAFE_INTEGER });
  while (next !== null) {
    const done = await step({ after: next, limit: STEP });
    changed += done.changed;
    next = done.next;
  }
  return changed;
}
