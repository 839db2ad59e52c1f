import type { FileHandle } from 'node:fs/promises';
import type { ClientRequest } from 'node:http';
import { RequestFailure } from '../transfer/failure.ts';
import type { RateLimit } from '../transfer/rate-limit.ts';

/** A range of an open file, sent without ever being in memory as a whole. */
export interface FileRange {
  readonly kind: 'file';
  readonly file: FileHandle;
  readonly offset: number;
  readonly size: number;
  readonly limit: RateLimit;
  /** Called as bytes leave. A failed try takes its bytes back with a negative number. */
  readonly onBytes?: (bytes: number) => void;
  /**
   * Called when the store reports other bytes than the checksum's; throws when the file itself has
   * changed.
   */
  readonly check?: (offset: number, size: number) => Promise<void>;
}

/** The body of a request: bytes in memory, or a range of a file. */
export type Body = { readonly kind: 'bytes'; readonly data: Uint8Array } | FileRange;

/** The number of bytes in a body. */
export function bodySize(body: Body | undefined): number {
  if (body === undefined) return 0;
  return body.kind === 'bytes' ? body.data.byteLength : body.size;
}

/** Sends a body and ends the request. */
export async function sendBody(request: ClientRequest, body: Body | undefined, signal: AbortSignal): Promise<void> {
  if (body?.kind === 'file') await sendRange(request, body, signal);
  if (body?.kind === 'bytes') request.end(body.data);
  else request.end();
}

/** Sends a range with two buffers: one is read while the other is sent. */
async function sendRange(request: ClientRequest, { file, offset, size, limit, onBytes }: FileRange, signal: AbortSignal): Promise<void> {
  const length = Math.min(limit.chunkBytes, size);
  const buffers = [Buffer.allocUnsafeSlow(length), Buffer.allocUnsafeSlow(length)];
  const sent: Promise<void>[] = [Promise.resolve(), Promise.resolve()];
  let done = 0;
  try {
    for (let turn = 0; done < size; turn = 1 - turn) {
      await sent[turn];
      const buffer = buffers[turn] as Buffer;
      const { bytesRead } = await file.read(buffer, 0, Math.min(length, size - done), offset + done);
      if (bytesRead === 0)
        throw new RequestFailure({ message: 'the file is shorter than its seal says', reason: 'SHORT_FILE', isTransient: false });
      await limit.take(bytesRead, signal);
      signal.throwIfAborted();
      const written = write(request, buffer.subarray(0, bytesRead));
      // The later await sees the error. Until then it must not count as unhandled.
      written.catch(() => {});
      sent[turn] = written;
      done += bytesRead;
      onBytes?.(bytesRead);
    }
    await Promise.all(sent);
  } catch (thrown) {
    onBytes?.(-done);
    throw thrown;
  }
}

/** Resolves when the bytes have left. A closed request may never call back. */
function write(request: ClientRequest, bytes: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const closed = (): void => reject(Object.assign(new Error('the request was closed'), { code: 'ECONNRESET' }));
    if (request.closed) return closed();
    request.once('close', closed);
    request.write(bytes, (error) => {
      request.off('close', closed);
      if (error == null) resolve();
      else reject(error);
    });
  });
}
