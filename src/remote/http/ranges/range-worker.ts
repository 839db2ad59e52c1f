import { parentPort } from 'node:worker_threads';
import { RawConnections } from '../raw-get.ts';
import { FileSink } from './file-sink.ts';
import type { FromThread, SystemFailure, ToThread } from './range-messages.ts';

/**
 * A thread that receives, sums and writes ranges of files, several at a time. It imports almost
 * nothing, because every fetch waits for its start.
 */
const port = parentPort;
if (port === null) throw new Error('range-worker.ts runs only as a worker thread');

let connections = new RawConnections(null);
const stops = new Map<number, AbortController>();

port.on('message', (message: ToThread) => {
  if (message.type === 'stop') stops.get(message.id)?.abort(new Error('it was abandoned'));
  else if (message.type === 'trust') connections = new RawConnections(message.ca);
  else void answer(message);
});

async function answer({ id, request, idleMs }: ToThread & { readonly type: 'get' }): Promise<void> {
  const { fd, offset, partBytes, ...get } = request;
  const stop = new AbortController();
  stops.set(id, stop);
  const sink = new FileSink({ fd, offset, partBytes, size: get.size }, (bytes) => tell({ type: 'bytes', id, bytes }));
  try {
    const isWhole = await connections.get({ ...get, sink }, { idleMs, signal: stop.signal });
    tell(isWhole ? { type: 'done', id, sums: sink.finish() } : { type: 'other', id });
  } catch (thrown) {
    tell({ type: 'failed', id, ...factsOf(thrown as NodeJS.ErrnoException) });
  } finally {
    stops.delete(id);
    sink.close();
  }
}

/** Copies only facts. Another module judges them, so that this thread loads little. */
function factsOf({ code, errno, message }: NodeJS.ErrnoException): SystemFailure {
  return { code: code ?? null, errno: errno ?? null, message };
}

function tell(message: FromThread): void {
  port?.postMessage(message);
}
