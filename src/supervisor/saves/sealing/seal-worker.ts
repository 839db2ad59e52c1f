import { parentPort, workerData } from 'node:worker_threads';
import { openRun } from '../../../store/folder/store.ts';
import { passGate } from './commit-gate.ts';
import { type FromThread, packFailure, type SealedSave, type ToThread } from './seal-messages.ts';
import { sealSave } from './seal-save.ts';

/** The seal thread does all work that waits for the disk, one work order at a time. */
const port = parentPort;
if (port === null) throw new Error('seal-worker.ts runs only as a worker thread');

const { dir } = workerData as { readonly dir: string };
const stops = new Map<number, AbortController>();

port.on('message', (message: ToThread) => {
  if (message.type === 'stop') stops.get(message.id)?.abort(new Error('it was abandoned'));
  else void answer(message);
});

type Asked = ToThread & { readonly type: 'work' };

async function answer(asked: Asked): Promise<void> {
  const { id } = asked;
  const stop = new AbortController();
  stops.set(id, stop);
  try {
    tell({ type: 'done', id, sealed: await perform(asked, stop.signal) });
  } catch (thrown) {
    tell({ type: 'failed', id, failure: packFailure(thrown) });
  } finally {
    stops.delete(id);
  }
}

/**
 * Performs one work order. Modules that few saves need are loaded on demand, because the first save
 * waits for all others.
 */
async function perform({ id, work, gate }: Asked, signal: AbortSignal): Promise<SealedSave | null> {
  const store = openRun(dir);
  const onBytes = (done: number, total: number): void => tell({ type: 'bytes', id, done, total });
  if (work.kind === 'seal') return sealSave(store, work, { signal, onBytes, mayCommit: () => passGate(gate) });
  if (work.kind === 'seal-together') {
    const { sealTogether } = await import('./seal-together.ts');
    return sealTogether(store, work, { signal, onBytes });
  }
  const { prune } = await import('../../../store/retention/prune.ts');
  await prune(store, { retention: work.retention, signal });
  return null;
}

function tell(message: FromThread): void {
  port?.postMessage(message);
}
