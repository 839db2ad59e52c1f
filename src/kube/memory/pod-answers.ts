import type { ObjectKey } from '../api/api-object.ts';
import type { LogOptions, ProxyOptions } from '../api/kube-api.ts';

/**
 * What the pods of a cluster in memory say. Null: the pod, its container or its port is not there.
 */
export interface PodAnswers {
  log(pod: ObjectKey, options: Pick<LogOptions, 'container' | 'lines'>): string | null;
  get(pod: ObjectKey, options: Pick<ProxyOptions, 'port' | 'path'>): string | null;
}

/** Pods that say nothing. */
export const SILENT: PodAnswers = { log: () => null, get: () => null };
