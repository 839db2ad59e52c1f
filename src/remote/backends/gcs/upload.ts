import type { ObjectPlan, PartBody, PlannedPart, Upload, UploadMemory } from '../backend.ts';
import { RequestFailure, UPLOAD_GONE, WRONG_BYTES } from '../../transfer/failure.ts';
import { type Origin, parseOrigin } from '../../http/origin.ts';
import { compareStored, encodeCrc32c } from '../part-plan.ts';
import { withRetries } from '../../transfer/retry.ts';
import { type GcsClient, jsonOf } from './gcs-client.ts';
import { assertStored, storedOf } from './stored.ts';

interface Session {
  readonly origin: Origin;
  readonly path: string;
}

/** What a resumable upload needs. */
export interface ResumableOptions {
  readonly bucket: string;
  readonly key: string;
  /** The key in the upload memory. */
  readonly name: string;
  readonly plan: ObjectPlan;
  /** Keeps the addresses of sessions, because the store cannot list them. */
  readonly memory: UploadMemory;
}

/**
 * Resumes the session of an earlier process while the store still knows it, else starts a new one.
 */
export async function openResumable(client: GcsClient, options: ResumableOptions): Promise<Upload> {
  const { name, plan, memory } = options;
  const mark = `${plan.size}:${encodeCrc32c(plan.crc32c)}:`;
  const known = memory.get(name);
  const remembered = known?.startsWith(mark) === true ? parseSession(known.slice(mark.length)) : null;
  if (remembered !== null) {
    const at = await persisted(client, remembered, plan);
    if (at !== null) return new ResumableUpload(client, options, remembered, at);
  }
  const address = await begin(client, options);
  memory.set(name, `${mark}${address}`);
  const session = parseSession(address);
  if (session === null)
    throw new RequestFailure({
      message: 'the store began an upload without an address',
      reason: 'NO_SESSION',
      status: 200,
      isTransient: false,
    });
  return new ResumableUpload(client, options, session, 0);
}

function parseSession(address: string): Session | null {
  const origin = parseOrigin(address);
  if (origin === null) return null;
  const url = new URL(address);
  return { origin, path: `${url.pathname}${url.search}` };
}

async function begin(client: GcsClient, { bucket, key, plan }: ResumableOptions): Promise<string> {
  const query = new URLSearchParams({ uploadType: 'resumable', name: key });
  const { headers } = await client.call({
    method: 'POST',
    path: `/upload/storage/v1/b/${encodeURIComponent(bucket)}/o?${query.toString()}`,
    headers: {
      'content-type': 'application/json; charset=UTF-8',
      'x-upload-content-length': String(plan.size),
      'x-upload-content-type': 'application/octet-stream',
    },
    // With the checksum sent first, the store refuses to finish any other bytes.
    body: { kind: 'bytes', data: Buffer.from(JSON.stringify({ name: key, crc32c: encodeCrc32c(plan.crc32c) })) },
  });
  return headers.location ?? '';
}

const INCOMPLETE = 308;

/** How many bytes of a session the store has: all when it is finished, null when it is gone. */
async function persisted(client: GcsClient, { origin, path }: Session, plan: ObjectPlan): Promise<number | null> {
  const response = await client.call({
    method: 'PUT',
    origin,
    path,
    headers: { 'content-range': `bytes */${plan.size}` },
    accept: [INCOMPLETE, 400, 404, 410, 499],
  });
  if (response.status === INCOMPLETE) return reached(response.headers.range);
  if (response.status >= 300) return null;
  // A server that takes the status request for the end of the upload has made a truncated object.
  // The upload is then lost.
  const metadata = jsonOf(response.body);
  return metadata !== null && compareStored(storedOf(metadata), plan) === 'same' ? plan.size : null;
}

/** Parses `bytes=0-1048575` or `0-1048575` into the byte after the last; 0 without the header. */
function reached(range: string | undefined): number {
  const match = /-(\d+)$/.exec(range ?? '');
  return match === null ? 0 : Number(match[1]) + 1;
}

/** Whether the store holds, or refuses to finish, other bytes than promised. */
function isDamaged(thrown: unknown): boolean {
  return thrown instanceof RequestFailure && (thrown.reason === WRONG_BYTES || thrown.status === 400);
}

/**
 * Whether the store no longer knows the session: it expired, or a request with a lost answer
 * finished it.
 */
function isGone(thrown: unknown): boolean {
  return thrown instanceof RequestFailure && (thrown.status === 404 || thrown.status === 410) && thrown.reason !== UPLOAD_GONE;
}

class ResumableUpload implements Upload {
  readonly isOrdered = true;
  readonly held: ReadonlySet<number>;
  readonly #client: GcsClient;
  readonly #options: ResumableOptions;
  readonly #session: Session;
  #reached: number;

  constructor(client: GcsClient, options: ResumableOptions, session: Session, at: number) {
    this.#client = client;
    this.#options = options;
    this.#session = session;
    this.#reached = at;
    this.held = new Set(options.plan.parts.filter(({ offset, size }) => offset + size <= at).map(({ index }) => index));
  }

  async putPart(part: PlannedPart, body: PartBody): Promise<void> {
    const { plan } = this.#options;
    const end = part.offset + part.size;
    await withRetries(this.#client.options, async (attempt) => {
      if (attempt > 1) await this.#ask();
      while (this.#reached < end) await this.#send(end, plan.size, body);
    }).catch((thrown: unknown) => {
      if (isGone(thrown)) throw this.#dropped();
      // Damaged bytes stay in the session, so no process may resume it.
      if (!isDamaged(thrown)) throw thrown;
      this.#options.memory.delete(this.#options.name);
      throw new RequestFailure({
        message: 'the store holds other bytes than were sent',
        reason: WRONG_BYTES,
        status: 200,
        isTransient: false,
        cause: thrown,
      });
    });
  }

  /** After a failed try only the store knows how much arrived. */
  async #ask(): Promise<void> {
    const at = await persisted(this.#client, this.#session, this.#options.plan);
    if (at === null) throw this.#dropped();
    this.#reached = at;
  }

  /** Forgets the session, so that no process tries to resume it. */
  #dropped(): RequestFailure {
    this.#options.memory.delete(this.#options.name);
    const message = 'the store has dropped the upload; run the command again';
    return new RequestFailure({ message, reason: UPLOAD_GONE, status: 410, isTransient: false });
  }

  async #send(end: number, total: number, body: PartBody): Promise<void> {
    const from = this.#reached;
    const response = await this.#client.once({
      method: 'PUT',
      ...this.#session,
      headers: { 'content-range': `bytes ${from}-${end - 1}/${total}` },
      body: { kind: 'file', offset: from, size: end - from, ...body },
      accept: [INCOMPLETE],
    });
    if (response.status !== INCOMPLETE) {
      assertStored(jsonOf(response.body), this.#options.plan);
      this.#reached = total;
      return;
    }
    const at = reached(response.headers.range);
    // Take bytes that did not count back from the progress.
    if (at < end) body.onBytes?.(at - end);
    if (at <= from)
      throw new RequestFailure({
        message: 'the store took none of the bytes',
        reason: 'NO_PROGRESS',
        status: INCOMPLETE,
        isTransient: true,
      });
    this.#reached = at;
  }

  /** The last part has already finished the object. */
  async complete(): Promise<void> {
    this.#options.memory.delete(this.#options.name);
  }
}
