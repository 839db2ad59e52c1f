import { parentPort, workerData } from 'node:worker_threads';
import { openRun } from '../../checkpoint/store/store.ts';
import { passGate } from './commit-gate.ts';
import { type FromThread, packFailure, type SealedSave, type ToThread } from './messages.ts';
import { sealSave } from './seal-save.ts';

/** The thread that seals: whatever waits for the disk waits here. One work at a time. */
const port = parentPort;
if (port === null) throw new Error('sealing/worker.ts runs only as a worker thread');

const { dir } = workerData as { readonly dir: string };
const stops = new Map<number, AbortController>();

port.on('message', (message: ToThread) => {
  if (message.type === 'stop') stops.get(message.id)?.abort(new Error('it was given up'));
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

/** What not every save needs is loaded when it is needed: the first save waits for the rest. */
async function perform({ id, work, gate }: Asked, signal: AbortSignal): Promise<SealedSave | null> {
  const store = openRun(dir);
  const onBytes = (done: number, total: number): void => tell({ type: 'bytes', id, done, total });
  if (work.kind === 'seal') return sealSave(store, work, { signal, onBytes, mayCommit: () => passGate(gate) });
  if (work.kind === 'seal-together') {
    const { sealTogether } = await import('../gang/seal-together.ts');
    return sealTogether(store, work, { signal, onBytes });
  }
  const { prune } = await import('../../checkpoint/store/prune.ts');
  await prune(store, { retention: work.retention, signal });
  return null;
}

function tell(message: FromThread): void {
  port?.postMessage(message);
}
