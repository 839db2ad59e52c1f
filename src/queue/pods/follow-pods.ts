import type { Clock } from '../../core/clock.ts';
import type { Rng } from '../../core/rng.ts';
import type { PodEnd } from '../../domain/queue/pod-end.ts';
import type { ApiObject } from '../../kube/api/api-object.ts';
import type { KubeApi } from '../../kube/api/kube-api.ts';
import type { Failure } from '../../kube/api/outcome.ts';
import { NODES, PODS } from '../../kube/api/resources.ts';
import { at } from '../../kube/objects/fields.ts';
import { Reflector } from '../../kube/watch/reflector.ts';
import { Store } from '../../kube/watch/store.ts';
import { PodBook } from './pod-book.ts';

/** What the pods of workers are followed with. */
export interface FollowOptions {
  readonly api: KubeApi;
  readonly namespace: string;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly signal: AbortSignal;
  /** Called when the state of a pod ends or explains the leases of its workers. */
  readonly onEnd: (pod: string, end: PodEnd) => Promise<void>;
  readonly onTrouble: (trouble: Failure | Error) => void;
}

const RETRY_MS = 1000;

/**
 * Follows the pods of a namespace and the nodes of the cluster until the signal is aborted. Without
 * the permission for nodes it goes on with the pods alone.
 */
export async function followPods({ api, namespace, clock, rng, signal, onEnd, onTrouble }: FollowOptions): Promise<void> {
  const book = new PodBook();
  let news = Promise.withResolvers<void>();
  const awake = (): void => news.resolve();
  signal.addEventListener('abort', awake, { once: true });
  const shared = { api, clock, rng, onTrouble };
  const pods = new Reflector({
    ...shared,
    resource: PODS,
    selection: { namespace },
    store: new Store(),
    trim: trimmedPod,
    onChange: (change) => (book.notePod(change), awake()),
  });
  const nodes = new Reflector({
    ...shared,
    resource: NODES,
    selection: { namespace: null },
    store: new Store(),
    trim: trimmedNode,
    onChange: (change) => (book.noteNode(change), awake()),
  });
  const mirrors = [pods, nodes].map((reflector) => reflector.run({ signal }).catch(() => undefined));
  while (!signal.aborted) {
    await news.promise;
    news = Promise.withResolvers<void>();
    try {
      for (const one of signal.aborted ? [] : book.news()) {
        await onEnd(one.pod, one.end);
        book.noteTold(one);
      }
      book.tidy();
    } catch (thrown) {
      onTrouble(thrown as Error);
      await clock.sleep(RETRY_MS, { signal }).catch(() => {});
      awake();
    }
  }
  await Promise.all(mirrors);
}

/** Only what the book reads: thousands of pods may be mirrored. */
function trimmedPod({ apiVersion, kind, metadata, spec, status }: ApiObject): ApiObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  const kept = { name, uid, resourceVersion, creationTimestamp };
  return {
    apiVersion,
    kind,
    metadata: {
      ...kept,
      ...(namespace === undefined ? {} : { namespace }),
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
      ...(deletionGracePeriodSeconds === undefined ? {} : { deletionGracePeriodSeconds }),
    },
    spec: { nodeName: at(spec, 'nodeName') },
    status,
  };
}

function trimmedNode({ apiVersion, kind, metadata, spec, status }: ApiObject): ApiObject {
  const { name, uid, resourceVersion, creationTimestamp } = metadata;
  return {
    apiVersion,
    kind,
    metadata: { name, uid, resourceVersion, creationTimestamp },
    spec: { taints: at(spec, 'taints') },
    status: { conditions: at(status, 'conditions') },
  };
}
