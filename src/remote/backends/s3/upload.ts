import type { ObjectPlan, PartBody, PlannedPart, Upload } from '../backend.ts';
import { RequestFailure } from '../../transfer/failure.ts';
import { nextPage } from '../pages.ts';
import { compareStored, decodeCrc32c, encodeCrc32c } from '../part-plan.ts';
import { failureOf, type S3Client } from './s3-client.ts';
import { readStored } from './stored.ts';
import { escapeXml, xmlBlocks, xmlText } from '../../http/xml.ts';

/** An upload in progress in the store's listing. */
export interface FoundUpload {
  readonly key: string;
  readonly id: string;
  readonly startedAt: number;
  /** The store's clock in the answer with the listing; NaN when it sent none. */
  readonly toldAt: number;
}

/** A Date header has no fraction of a second. */
const DATE_RESOLUTION_MS = 1000;

/**
 * Lists the uploads in progress whose key starts with the prefix, as far as the store can. MinIO
 * lists only those of one exact key.
 */
export async function* listUploads(client: S3Client, prefix: string): AsyncGenerator<FoundUpload> {
  let markers: readonly (readonly [string, string])[] = [];
  let page: string | null = null;
  for (;;) {
    const query = [['uploads', ''], ['prefix', prefix], ...markers] as const;
    const { body, headers } = await client.call({ method: 'GET', key: null, query });
    const xml = body.toString('utf8');
    const toldAt = Date.parse(headers.date ?? '') + DATE_RESOLUTION_MS;
    for (const block of xmlBlocks(xml, 'Upload')) {
      const [key, id] = [xmlText(block, 'Key'), xmlText(block, 'UploadId')];
      if (key !== null && id !== null) yield { key, id, startedAt: Date.parse(xmlText(block, 'Initiated') ?? ''), toldAt };
    }
    const [nextKey, nextId] = [xmlText(xml, 'NextKeyMarker') ?? '', xmlText(xml, 'NextUploadIdMarker') ?? ''];
    if (xmlText(xml, 'IsTruncated') !== 'true' || nextKey === '') return;
    page = nextPage(page, JSON.stringify([nextKey, nextId]));
    markers = [['key-marker', nextKey], ...(nextId === '' ? [] : [['upload-id-marker', nextId] as const])];
  }
}

/** Aborts an upload in progress; one that is already gone is fine. */
export async function abortUpload(client: S3Client, { key, id }: Pick<FoundUpload, 'key' | 'id'>): Promise<void> {
  try {
    await client.call({ method: 'DELETE', key, query: [['uploadId', id]] });
  } catch (thrown) {
    // Another process aborted it first.
    if (!isGone(thrown)) throw thrown;
  }
}

function isGone(thrown: unknown): boolean {
  return (
    thrown instanceof RequestFailure && (thrown.reason === 'NoSuchUpload' || thrown.status === 404) && thrown.reason !== 'NoSuchBucket'
  );
}

interface HeldPart {
  readonly etag: string;
  readonly size: number;
  readonly crc32c: number | null;
}

/** Resumes the newest upload of the key and aborts the others, or starts one. */
export async function openS3Upload(client: S3Client, key: string, plan: ObjectPlan): Promise<Upload> {
  const found: FoundUpload[] = [];
  for await (const upload of listUploads(client, key)) if (upload.key === key) found.push(upload);
  found.sort((a, b) => b.startedAt - a.startedAt);
  const [newest, ...others] = found;
  for (const other of others) await abortUpload(client, other);
  if (newest === undefined) return new S3Upload(client, { key, plan, id: await create(client, key), held: new Map() });
  return new S3Upload(client, { key, plan, id: newest.id, held: await listParts(client, newest) });
}

/**
 * Starts an upload with a checksum over the whole object. Falls back to one over the parts'
 * checksums where the store keeps only that.
 */
async function create(client: S3Client, key: string): Promise<string> {
  const ask = async (type: string | null): Promise<string> => {
    const headers = { 'x-amz-checksum-algorithm': 'CRC32C', ...(type === null ? {} : { 'x-amz-checksum-type': type }) };
    const { body } = await client.call({ method: 'POST', key, query: [['uploads', '']], headers });
    const id = xmlText(body.toString('utf8'), 'UploadId');
    if (id === null)
      throw new RequestFailure({
        message: 'the store began an upload without a name',
        reason: 'NO_UPLOAD_ID',
        status: 200,
        isTransient: false,
      });
    return id;
  };
  try {
    return await ask('FULL_OBJECT');
  } catch (thrown) {
    if (!(thrown instanceof RequestFailure) || (thrown.status !== 400 && thrown.status !== 501)) throw thrown;
    return ask(null);
  }
}

async function listParts(client: S3Client, { key, id }: FoundUpload): Promise<Map<number, HeldPart>> {
  const held = new Map<number, HeldPart>();
  let marker: readonly (readonly [string, string])[] = [];
  let page: string | null = null;
  for (;;) {
    const xml = (await client.call({ method: 'GET', key, query: [['uploadId', id], ...marker] })).body.toString('utf8');
    for (const block of xmlBlocks(xml, 'Part')) {
      const [number, etag] = [Number(xmlText(block, 'PartNumber')), xmlText(block, 'ETag')];
      const sum = xmlText(block, 'ChecksumCRC32C');
      if (etag !== null)
        held.set(number - 1, { etag, size: Number(xmlText(block, 'Size')), crc32c: sum === null ? null : decodeCrc32c(sum) });
    }
    const next = xmlText(xml, 'NextPartNumberMarker') ?? '';
    if (xmlText(xml, 'IsTruncated') !== 'true' || next === '') return held;
    page = nextPage(page, next);
    marker = [['part-number-marker', next]];
  }
}

interface UploadState {
  readonly key: string;
  readonly plan: ObjectPlan;
  readonly id: string;
  readonly held: Map<number, HeldPart>;
}

class S3Upload implements Upload {
  readonly isOrdered = false;
  readonly held: ReadonlySet<number>;
  readonly #client: S3Client;
  readonly #state: UploadState;
  readonly #etags = new Map<number, string>();

  constructor(client: S3Client, state: UploadState) {
    this.#client = client;
    this.#state = state;
    for (const part of state.plan.parts) {
      const own = state.held.get(part.index);
      if (own?.size === part.size && own.crc32c === part.crc32c) this.#etags.set(part.index, own.etag);
    }
    this.held = new Set(this.#etags.keys());
  }

  async putPart(part: PlannedPart, body: PartBody): Promise<void> {
    const { key, id } = this.#state;
    const { headers } = await this.#client.call({
      method: 'PUT',
      key,
      query: [
        ['partNumber', String(part.index + 1)],
        ['uploadId', id],
      ],
      headers: { 'x-amz-checksum-crc32c': encodeCrc32c(part.crc32c) },
      body: { kind: 'file', offset: part.offset, size: part.size, ...body },
    });
    assertChecksum(headers['x-amz-checksum-crc32c'], part.crc32c);
    this.#etags.set(part.index, headers.etag ?? '');
  }

  async complete(): Promise<void> {
    const { key, plan, id } = this.#state;
    const parts = plan.parts.map(({ index, crc32c }) => {
      const etag = escapeXml(this.#etags.get(index) ?? '');
      return `<Part><PartNumber>${index + 1}</PartNumber><ETag>${etag}</ETag><ChecksumCRC32C>${encodeCrc32c(crc32c)}</ChecksumCRC32C></Part>`;
    });
    const xml = `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${parts.join('')}</CompleteMultipartUpload>`;
    try {
      const response = await this.#client.call({
        method: 'POST',
        key,
        query: [['uploadId', id]],
        body: { kind: 'bytes', data: Buffer.from(xml) },
        // A store needs time to join many parts.
        expectedBytes: plan.size / 1024,
      });
      // S3 sends the status before it is done, and a possible error afterwards.
      if (xmlText(response.body.toString('utf8'), 'Code') !== null) throw failureOf({ ...response, status: 500 });
    } catch (thrown) {
      // The answer to an earlier try may have been lost: then the object is there and the upload is
      // gone.
      if (!isGone(thrown)) throw thrown;
      const stored = await readStored(this.#client, key);
      if (stored === null || compareStored(stored, plan) === 'different') throw thrown;
    }
  }
}

/**
 * Compares the checksum that a store reports with ours. Without a report, ship asks again at the
 * end.
 */
export function assertChecksum(header: string | string[] | undefined, expected: number): void {
  if (typeof header !== 'string' || decodeCrc32c(header) === expected) return;
  throw new RequestFailure({ message: 'the store computed another crc32c than ours', status: 200, reason: 'CHECKSUM', isTransient: false });
}
