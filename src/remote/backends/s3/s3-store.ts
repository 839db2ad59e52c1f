import type { ListedObject, ObjectPlan, ObjectStore, PartBody, RangeSink, StoredObject, Upload, Written } from '../backend.ts';
import { RequestFailure } from '../../transfer/failure.ts';
import { nextPage } from '../pages.ts';
import { encodeCrc32c, planBytes } from '../part-plan.ts';
import { remoteError } from '../remote-error.ts';
import type { Clock } from '../../../core/clock.ts';
import type { S3Client } from './s3-client.ts';
import { readStored } from './stored.ts';
import { abortUpload, assertChecksum, type FoundUpload, listUploads, openS3Upload } from './upload.ts';
import { xmlBlocks, xmlText } from '../../http/xml.ts';
import type { BucketSettings } from '../bucket-settings.ts';
import { readS3Bucket } from './s3-bucket.ts';

/** What an S3 store needs. */
export interface S3StoreOptions {
  readonly url: string;
  /** The prefix of all keys, without a slash at either end; may be empty. */
  readonly prefix: string;
  readonly clock: Clock;
  readonly close: () => void;
}

/** Errors of stores over folders: the wanted name is a folder with other objects. */
const NAME_TAKEN: ReadonlySet<string> = new Set(['ExistingObjectIsDirectory', 'XMinioObjectExistsAsDirectory']);

/** Keeps objects in a bucket of S3, or of a store that speaks its API. */
export class S3Store implements ObjectStore {
  readonly url: string;
  readonly settings: BucketSettings;
  /** S3 needs 5 MiB for every part but the last; our parts have 32 MiB. */
  readonly largestSinglePut = 32 * 1024 * 1024;
  readonly #client: S3Client;
  readonly #options: S3StoreOptions;

  constructor(client: S3Client, options: S3StoreOptions) {
    this.url = options.url;
    this.#client = client;
    this.#options = options;
    this.settings = {
      readFacts: () => this.#guard('ask about the bucket of', '', () => readS3Bucket(client)),
      remove: (key) => this.#guard('remove', key, async () => void (await client.call({ method: 'DELETE', key: this.#full(key) }))),
    };
  }

  async head(key: string): Promise<StoredObject | null> {
    return this.#guard('ask about', key, () => readStored(this.#client, this.#full(key)));
  }

  async read(key: string, maxBytes: number): Promise<{ readonly bytes: Buffer; readonly version: string } | null> {
    return this.#guard('read', key, async () => {
      try {
        const { body, headers } = await this.#client.call({ method: 'GET', key: this.#full(key), maxBytes });
        return { bytes: body, version: headers.etag ?? '' };
      } catch (thrown) {
        if (thrown instanceof RequestFailure && thrown.reason === 'NoSuchKey') return null;
        throw thrown;
      }
    });
  }

  async readRange(key: string, { offset, size }: { offset: number; size: number }, sink: RangeSink): Promise<void> {
    await this.#guard('read', key, () =>
      this.#client.call({
        method: 'GET',
        key: this.#full(key),
        headers: { range: `bytes=${offset}-${offset + size - 1}` },
        sink,
        restart: () => sink.restart(),
        expectedBytes: size,
      }),
    );
  }

  async create(key: string, bytes: Uint8Array): Promise<Written> {
    return this.#write(key, bytes, { 'if-none-match': '*' });
  }

  async replace(key: string, bytes: Uint8Array, version: string): Promise<Written> {
    return this.#write(key, bytes, { 'if-match': version });
  }

  async #write(key: string, bytes: Uint8Array, condition: Record<string, string>): Promise<Written> {
    return this.#guard('write', key, async () => {
      const headers = { ...condition, 'x-amz-checksum-crc32c': encodeCrc32c(planBytes(bytes).crc32c) };
      try {
        const response = await this.#client.call({ method: 'PUT', key: this.#full(key), headers, body: { kind: 'bytes', data: bytes } });
        return { isWritten: true, version: response.headers.etag ?? '' };
      } catch (thrown) {
        // 412: the condition does not hold. 404: the object to replace is gone.
        const isRefused =
          thrown instanceof RequestFailure && (thrown.status === 412 || thrown.reason === 'NoSuchKey' || NAME_TAKEN.has(thrown.reason));
        if (isRefused) return { isWritten: false };
        throw thrown;
      }
    });
  }

  async putFile(key: string, { size, crc32c }: ObjectPlan, body: PartBody): Promise<void> {
    await this.#guard('write', key, async () => {
      const { headers } = await this.#client.call({
        method: 'PUT',
        key: this.#full(key),
        headers: { 'x-amz-checksum-crc32c': encodeCrc32c(crc32c) },
        body: { kind: 'file', offset: 0, size, ...body },
      });
      assertChecksum(headers['x-amz-checksum-crc32c'], crc32c);
    });
  }

  async openUpload(key: string, plan: ObjectPlan): Promise<Upload> {
    const upload = await this.#guard('begin to write', key, () => openS3Upload(this.#client, this.#full(key), plan));
    return {
      isOrdered: upload.isOrdered,
      held: upload.held,
      putPart: (part, body) => this.#guard('write', key, () => upload.putPart(part, body)),
      complete: () => this.#guard('finish', key, () => upload.complete()),
    };
  }

  async *list(prefix: string): AsyncGenerator<ListedObject> {
    const start = this.#full('');
    let token: string | null = null;
    do {
      const query: (readonly [string, string])[] = [
        ['list-type', '2'],
        ['prefix', this.#full(prefix)],
      ];
      if (token !== null) query.push(['continuation-token', token]);
      const used: string | null = token;
      const [xml, next] = await this.#guard('list', prefix, async (): Promise<readonly [string, string | null]> => {
        const page = (await this.#client.call({ method: 'GET', key: null, query })).body.toString('utf8');
        return [page, nextPage(used, xmlText(page, 'IsTruncated') === 'true' ? xmlText(page, 'NextContinuationToken') : null)];
      });
      for (const block of xmlBlocks(xml, 'Contents')) {
        const key = xmlText(block, 'Key');
        if (key?.startsWith(start) === true) yield { key: key.slice(start.length), size: Number(xmlText(block, 'Size')) };
      }
      token = next;
    } while (token !== null);
  }

  async removeUploads(key: string): Promise<number> {
    return this.#guard('clean up', key, () => this.#abortWhere(this.#full(key), async (upload) => upload.key === this.#full(key)));
  }

  async removeOldUploads(olderThanMs: number, spared: ReadonlySet<string>, isOurs: (key: string) => Promise<boolean>): Promise<number> {
    const { clock } = this.#options;
    const start = this.#full('');
    return this.#guard('clean up', '', () =>
      this.#abortWhere(start, async ({ key: full, startedAt, toldAt }) => {
        const key = full.slice(start.length);
        // Use the clock that reported the start: ours may be off by a day.
        const isOld = startedAt < (Number.isNaN(toldAt) ? clock.now() : toldAt) - olderThanMs;
        return isOld && full.startsWith(start) && !spared.has(key) && isOurs(key);
      }),
    );
  }

  async #abortWhere(prefix: string, isWanted: (upload: FoundUpload) => Promise<boolean>): Promise<number> {
    let count = 0;
    for await (const upload of listUploads(this.#client, prefix)) {
      if (!(await isWanted(upload))) continue;
      await abortUpload(this.#client, upload);
      count++;
    }
    return count;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#options.close();
  }

  #full(key: string): string {
    return this.#options.prefix === '' ? key : `${this.#options.prefix}/${key}`;
  }

  async #guard<T>(doing: string, key: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (thrown) {
      throw remoteError(thrown, doing, key === '' ? this.url : `${this.url}/${key}`);
    }
  }
}
