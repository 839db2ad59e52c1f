import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '../cluster/api.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { bind } from './actions.ts';

const PAUSE_MS = 300;
const READY = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };

/** The process that a pod stands for. */
export interface PodProcess {
  end(): Promise<unknown>;
}

/**
 * Plays the kubelet for the Deployments of operators: starts a real process for each of their pods,
 * and ends it with the pod. Disposing of it ends all of them.
 */
export function playOperatorPods(
  cluster: Cluster,
  namespaces: readonly string[],
  start: (pod: KubeObject, namespace: string) => Promise<PodProcess>,
): AsyncDisposable {
  const running = new Map<string, PodProcess>();
  const over = new AbortController();
  const playing = (async () => {
    while (!over.signal.aborted) {
      for (const namespace of namespaces) await playPods(cluster, namespace, { running, start });
      await sleep(PAUSE_MS);
    }
  })();
  // Heard below; a rejection before that must not end the test process.
  playing.catch(() => undefined);
  return {
    async [Symbol.asyncDispose]() {
      over.abort();
      try {
        await playing;
      } finally {
        await Promise.all([...running.values()].map((process) => process.end()));
      }
    },
  };
}

interface Played {
  readonly running: Map<string, PodProcess>;
  readonly start: (pod: KubeObject, namespace: string) => Promise<PodProcess>;
}

async function playPods(cluster: Cluster, namespace: string, { running, start }: Played): Promise<void> {
  for (const pod of await cluster.api.list(`/api/v1/namespaces/${namespace}/pods`)) {
    const { name, uid, deletionTimestamp } = pod.metadata;
    const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
    if (deletionTimestamp !== undefined) {
      await running.get(uid)?.end();
      running.delete(uid);
      await cluster.api.remove(`${path}?gracePeriodSeconds=0`);
    } else if (!running.has(uid)) {
      await bind({ cluster }, path, name);
      running.set(uid, await start(pod, namespace));
      await cluster.api.patch(`${path}/status`, { status: READY });
    }
  }
}
