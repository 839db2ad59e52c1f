import { parentPort, workerData } from 'node:worker_threads';
import { prune } from '../../checkpoint/store/prune.ts';
import { openRun } from '../../checkpoint/store/store.ts';
import { type FromThread, packFailure, type SealedSave, type ToThread, type Work } from './messages.ts';
import { sealTogether } from '../gang/seal-together.ts';
import { sealSave } from './seal-save.ts';

/** The thread that seals: whatever waits for the disk waits here. One work at a time. */
const port = parentPort;
if (port === null) throw new Error('sealing/worker.ts runs only as a worker thread');

const { dir } = workerData as { readonly dir: string };
let stop = new AbortController();

port.on('message', (message: ToThread) => {
  if (message.type === 'stop') stop.abort(new Error('it was given up'));
  else void answer(message.work);
});

async function answer(work: Work): Promise<void> {
  stop = new AbortController();
  try {
    tell({ type: 'done', sealed: await perform(work) });
  } catch (thrown) {
    tell({ type: 'failed', failure: packFailure(thrown) });
  }
}

async function perform(work: Work): Promise<SealedSave | null> {
  const store = openRun(dir);
  const { signal } = stop;
  const onBytes = (done: number, total: number): void => tell({ type: 'bytes', done, total });
  if (work.kind === 'seal') return sealSave(store, work, { signal, onBytes });
  if (work.kind === 'seal-together') return sealTogether(store, work, { signal, onBytes });
  await prune(store, { retention: work.retention, signal });
  return null;
}

function tell(message: FromThread): void {
  port?.postMessage(message);
}
