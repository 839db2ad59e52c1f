import { ServerApi } from '../../kube/client/server-api.ts';
import { openCluster } from '../../kube/client/open-cluster.ts';
import { RateLimit } from '../../kube/client/rate-limit.ts';
import { type FollowOptions, followPods } from './follow-pods.ts';

/** A watch that runs until its signal is aborted. */
export interface PodWatch {
  readonly namespace: string;
  readonly ended: Promise<void>;
}

/** The watch needs few requests: a page of a list now and then. */
const RATE = { perSecond: 10, burst: 50 };

/**
 * Follows the pods in the namespace of the service account, or of the kubeconfig’s context.
 */
export async function watchPods(options: Omit<FollowOptions, 'api' | 'namespace'>): Promise<PodWatch> {
  const { clock, signal } = options;
  const { transport, namespace } = await openCluster({ kubeconfig: null, context: null, clock, signal });
  const api = new ServerApi(transport, new RateLimit(RATE, clock));
  return { namespace, ended: followPods({ ...options, api, namespace }) };
}
