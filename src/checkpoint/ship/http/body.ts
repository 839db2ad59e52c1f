import type { FileHandle } from 'node:fs/promises';
import type { ClientRequest } from 'node:http';
import { RequestFailure } from '../failure.ts';
import type { RateLimit } from '../rate-limit.ts';

/** A piece of an open file that is sent without ever being in memory as a whole. */
export interface FileRange {
  readonly kind: 'file';
  readonly file: FileHandle;
  readonly offset: number;
  readonly size: number;
  readonly limit: RateLimit;
  /** Told as bytes leave; a try that fails is told back as a negative number. */
  readonly onBytes?: (bytes: number) => void;
  /** Called when the store says that the bytes are not those of the checksum; throws when it is the file that changed. */
  readonly check?: (offset: number, size: number) => Promise<void>;
}

export type Body = { readonly kind: 'bytes'; readonly data: Uint8Array } | FileRange;

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

/** Two buffers take turns: one is read while the other is sent. */
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
      // Whoever waits for it later sees the error; until then it must not count as unhandled.
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

/** Kept when the bytes have left. A request that is closed may forget to say so. */
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
