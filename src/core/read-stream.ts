import { addAbortSignal, type Readable } from 'node:stream';

/**
 * Reads a stream to its end; null where it is longer than `maxBytes`. An aborted signal ends the
 * wait for a silent stream with its reason.
 */
export async function readStream(stream: Readable, maxBytes: number, signal: AbortSignal): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of addAbortSignal(signal, stream) as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes) return null;
      chunks.push(chunk);
    }
  } catch (thrown) {
    signal.throwIfAborted();
    throw thrown;
  }
  return Buffer.concat(chunks);
}
