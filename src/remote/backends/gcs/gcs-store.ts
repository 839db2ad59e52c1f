import { HoldfastError } from '../../../core/errors.ts';
import { printable } from '../../../core/printable.ts';
import { isArray, isObject, type JsonObject } from '../../../core/json.ts';
import type {
  ListedObject,
  ObjectPlan,
  ObjectStore,
  PartBody,
  RangeSink,
  StoredObject,
  Upload,
  UploadMemory,
  Written,
} from '../backend.ts';
import { RequestFailure } from '../../transfer/failure.ts';
import { nextPage } from '../pages.ts';
import { planBytes } from '../part-plan.ts';
import { remoteError } from '../remote-error.ts';
import { type GcsClient, jsonOf } from './gcs-client.ts';
import { assertStored, storedOf } from './stored.ts';
import { openResumable } from './upload.ts';
import type { BucketSettings } from '../bucket-settings.ts';
import { readGcsBucket } from './gcs-bucket.ts';

/** What a Google Cloud Storage store needs. */
export interface GcsStoreOptions {
  readonly url: string;
  readonly bucket: string;
  /** The prefix of all keys, without a slash at either end; may be empty. */
  readonly prefix: string;
  readonly memory: UploadMemory;
  readonly close: () => void;
}

/** Keeps objects in a bucket of Google Cloud Storage. */
export class GcsStore implements ObjectStore {
  readonly url: string;
  readonly settings: BucketSettings;
  readonly largestSinglePut = 16 * 1024 * 1024;
  readonly #client: GcsClient;
  readonly #options: GcsStoreOptions;
  readonly #bucketPath: string;
  #isBucketSeen = false;

  constructor(client: GcsClient, options: GcsStoreOptions) {
    this.url = options.url;
    this.#client = client;
    this.#options = options;
    this.settings = {
      readFacts: () => this.#guard('ask about the bucket of', '', () => readGcsBucket(client, options.bucket)),
      remove: (key) => this.#guard('remove', key, async () => void (await client.call({ method: 'DELETE', path: this.#object(key) }))),
    };
    this.#bucketPath = `/storage/v1/b/${encodeURIComponent(options.bucket)}/o`;
  }

  async head(key: string): Promise<StoredObject | null> {
    return this.#guard('ask about', key, async () => {
      const { status, body } = await this.#client.call({ method: 'GET', path: this.#object(key), accept: [404] });
      const metadata = status === 404 ? null : jsonOf(body);
      if (metadata === null) await this.#assertBucket();
      return metadata === null ? null : storedOf(metadata);
    });
  }

  async read(key: string, maxBytes: number): Promise<{ readonly bytes: Buffer; readonly version: string } | null> {
    return this.#guard('read', key, async () => {
      const { status, headers, body } = await this.#client.call({
        method: 'GET',
        path: `${this.#object(key)}?alt=media`,
        maxBytes,
        accept: [404],
      });
      if (status === 404) {
        await this.#assertBucket();
        return null;
      }
      const generation = headers['x-goog-generation'];
      return { bytes: body, version: typeof generation === 'string' ? generation : '' };
    });
  }

  async readRange(key: string, { offset, size }: { offset: number; size: number }, sink: RangeSink): Promise<void> {
    await this.#guard('read', key, () =>
      this.#client.call({
        method: 'GET',
        path: `${this.#object(key)}?alt=media`,
        headers: { range: `bytes=${offset}-${offset + size - 1}` },
        sink,
        restart: () => sink.restart(),
        expectedBytes: size,
      }),
    );
  }

  async create(key: string, bytes: Uint8Array): Promise<Written> {
    return this.#write(key, bytes, '0');
  }

  async replace(key: string, bytes: Uint8Array, version: string): Promise<Written> {
    return this.#write(key, bytes, version);
  }

  async #write(key: string, bytes: Uint8Array, generation: string): Promise<Written> {
    return this.#guard('write', key, async () => {
      const { status, body } = await this.#client.call({
        method: 'POST',
        path: this.#media(key, { ifGenerationMatch: generation }),
        headers: { 'content-type': 'application/octet-stream' },
        body: { kind: 'bytes', data: bytes },
        accept: [412],
      });
      if (status === 412) return { isWritten: false };
      const metadata = jsonOf(body);
      assertStored(metadata, planBytes(bytes));
      return { isWritten: true, version: metadata === null ? '' : storedOf(metadata).version };
    });
  }

  async putFile(key: string, plan: ObjectPlan, body: PartBody): Promise<void> {
    await this.#guard('write', key, async () => {
      const response = await this.#client.call({
        method: 'POST',
        path: this.#media(key, {}),
        headers: { 'content-type': 'application/octet-stream' },
        body: { kind: 'file', offset: 0, size: plan.size, ...body },
      });
      await this.#checking(body, plan.size, async () => assertStored(jsonOf(response.body), plan));
    });
  }

  async openUpload(key: string, plan: ObjectPlan): Promise<Upload> {
    const { bucket, memory } = this.#options;
    const upload = await this.#guard('begin to write', key, () =>
      openResumable(this.#client, { bucket, key: this.#full(key), name: key, plan, memory }),
    );
    return {
      isOrdered: upload.isOrdered,
      held: upload.held,
      putPart: (part, body) => this.#guard('write', key, () => this.#checking(body, plan.size, () => upload.putPart(part, body))),
      complete: () => this.#guard('finish', key, () => upload.complete()),
    };
  }

  async *list(prefix: string): AsyncGenerator<ListedObject> {
    const start = this.#full('');
    let token: string | null = null;
    do {
      const query = new URLSearchParams({ prefix: this.#full(prefix), fields: 'items(name,size),nextPageToken' });
      if (token !== null) query.set('pageToken', token);
      const used: string | null = token;
      const [page, next] = await this.#guard('list', prefix, async (): Promise<readonly [JsonObject, string | null]> => {
        const { body } = await this.#client.call({ method: 'GET', path: `${this.#bucketPath}?${query.toString()}` });
        const told = jsonOf(body) ?? {};
        const { nextPageToken } = told;
        return [told, nextPage(used, typeof nextPageToken === 'string' && nextPageToken !== '' ? nextPageToken : null)];
      });
      for (const item of isArray(page['items']) ? page['items'] : []) {
        const name = isObject(item) ? item['name'] : undefined;
        if (isObject(item) && typeof name === 'string' && name.startsWith(start))
          yield { key: name.slice(start.length), size: Number(item['size']) };
      }
      token = next;
    } while (token !== null);
  }

  /**
   * Forgets the sessions of a key. The store does not list them, charges nothing, and ends them
   * after a week.
   */
  async removeUploads(key: string): Promise<number> {
    const known = this.#options.memory.get(key);
    if (known === null) return 0;
    this.#options.memory.delete(key);
    return 1;
  }

  async removeOldUploads(): Promise<number> {
    return 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#options.close();
  }

  #full(key: string): string {
    return this.#options.prefix === '' ? key : `${this.#options.prefix}/${key}`;
  }

  #object(key: string): string {
    return `${this.#bucketPath}/${encodeURIComponent(this.#full(key))}`;
  }

  #media(key: string, more: Record<string, string>): string {
    const query = new URLSearchParams({ uploadType: 'media', name: this.#full(key), ...more });
    return `/upload${this.#bucketPath}?${query.toString()}`;
  }

  /**
   * Tells a missing bucket from a missing object, because the store gives the same answer for both.
   */
  async #assertBucket(): Promise<void> {
    if (this.#isBucketSeen) return;
    const { status } = await this.#client.call({ method: 'GET', path: `${this.#bucketPath}?maxResults=1`, accept: [404] });
    if (status === 404) {
      throw new HoldfastError('BUCKET_NOT_FOUND', {
        message: `the bucket of ${printable(this.url)} does not exist`,
        hint: 'Check its name and the endpoint. Holdfast never makes buckets.',
      });
    }
    this.#isBucketSeen = true;
  }

  /**
   * Checks the local file when the store holds or refuses other bytes, because the file may have
   * changed.
   */
  async #checking<T>(body: PartBody, size: number, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (thrown) {
      if (thrown instanceof RequestFailure && (thrown.reason === 'CHECKSUM' || thrown.status === 400)) await body.check?.(0, size);
      throw thrown;
    }
  }

  async #guard<T>(doing: string, key: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (thrown) {
      throw remoteError(thrown, doing, key === '' ? this.url : `${this.url}/${key}`);
    }
  }
}
