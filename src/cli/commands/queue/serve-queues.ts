import { isIP } from 'node:net';
import type { Clock } from '../../../core/clock.ts';
import { formatDuration } from '../../../core/duration.ts';
import { HoldfastError } from '../../../core/errors.ts';
import { printable } from '../../../core/printable.ts';
import { createRng, randomSeed } from '../../../core/rng.ts';
import { openStore } from '../../../queue/backends/open-store.ts';
import { StoredQueues } from '../../../queue/engine.ts';
import { QueueServer } from '../../../queue/server/server.ts';
import type { Output } from '../../output/output.ts';
import { readTokenFile, tokenOf } from './connect.ts';
import type { ListenAddress } from '../../frame/listen-address.ts';

/** The settings of `serve`. */
export interface ServeFacts {
  readonly values: {
    readonly db: string;
    readonly listen: ListenAddress;
    readonly 'token-file': string | null;
    readonly 'worker-token-file': string | null;
    readonly lease: number;
    readonly tries: number;
    readonly poison: number;
    readonly 'max-item': number;
    readonly connections: number;
    readonly 'watch-pods': boolean;
  };
  readonly output: Output;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

/** A turn may contain several results of the largest size. */
const RESULTS_IN_A_TURN = 8;

/**
 * Serves until the signal is aborted. Prints the address as the first line on standard output, for
 * the starting program.
 */
export async function serveQueues({ values, output, clock, env, signal }: ServeFacts): Promise<void> {
  const ownerToken = await tokenOf(values['token-file'], env);
  const workerToken = values['worker-token-file'] === null ? null : await readTokenFile(values['worker-token-file']);
  const { host, port } = values.listen;
  if (ownerToken === null && (workerToken !== null || !isLoopback(host))) {
    throw new HoldfastError('QUEUE_ADDRESS_REFUSED', {
      message:
        workerToken === null
          ? `${printable(host)} can be reached by others, and no token is given`
          : 'a token for workers is given, and none for owners',
      hint: 'Give --token-file. `openssl rand -hex 32 > owner.token` makes a token.',
    });
  }
  const { lease: leaseMs, tries, poison, 'max-item': itemLength, connections: maxConnections } = values;
  const store = await openStore(values.db);
  const { sharedNow } = store;
  const backend = new StoredQueues({ store, rules: { leaseMs, tries, poison }, clock, rng: createRng(randomSeed()), sharedNow });
  try {
    const limits = { itemLength, bodyBytes: RESULTS_IN_A_TURN * itemLength + 2 ** 20 };
    const access = { ownerToken, workerToken };
    const say = (text: string): void => output.note(`holdfast: ${text}`);
    const server = await QueueServer.start({ backend, host, port, access, limits, leaseMs, maxConnections, clock, say });
    if (output.json) output.printJson({ schema: 'holdfast.queue-serve/1', url: server.url, place: backend.place });
    else output.print(server.url);
    output.note(`serving ${printable(backend.place)} with leases of ${formatDuration(leaseMs)}`);
    try {
      await (values['watch-pods'] ? watchUntilEnded(server, { clock, signal, say }) : ended(signal));
    } finally {
      await server[Symbol.asyncDispose]();
    }
  } finally {
    await backend[Symbol.asyncDispose]();
  }
}

/** The most troubles that are remembered, so that each is said once. */
const MOST_TROUBLES = 50;

/** Serves with an eye on the pods of the workers. Says each trouble once. */
async function watchUntilEnded(
  server: QueueServer,
  { clock, signal, say }: Pick<ServeFacts, 'clock' | 'signal'> & { readonly say: (text: string) => void },
): Promise<void> {
  const { watchPods } = await import('../../../queue/pods/watch-pods.ts');
  const said = new Set<string>();
  const onTrouble = ({ message }: { readonly message: string }): void => {
    if (said.has(message)) return;
    if (said.size >= MOST_TROUBLES) said.clear();
    said.add(message);
    say(`trouble: ${printable(message)}`);
  };
  const rng = createRng(randomSeed());
  const watch = await watchPods({ clock, rng, signal, onEnd: (pod, end) => server.podEnded(pod, end), onTrouble });
  say(`watching the pods of the namespace ${printable(watch.namespace)}`);
  await watch.ended;
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

function ended(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
