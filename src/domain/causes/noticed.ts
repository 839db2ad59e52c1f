import { type Cause, isCause } from '../grace/notice.ts';
import type { EndCause } from './catalogue.ts';

/**
 * The cause of an end that a supervisor's notice proves. A bare SIGTERM proves an interruption, but
 * not its cause.
 */
const NOTICED: Partial<Readonly<Record<Cause, EndCause>>> = {
  'gcp-preempted': 'SPOT_RECLAIM',
  'aws-spot': 'SPOT_RECLAIM',
  'azure-preempt': 'SPOT_RECLAIM',
  'azure-terminate': 'SPOT_RECLAIM',
  preemption: 'SCHEDULER_PREEMPTION',
  drain: 'API_EVICTION',
  suspend: 'JOB_SUSPENDED',
  'node-shutdown': 'MACHINE_SHUTDOWN',
  'storage-limit': 'EPHEMERAL_STORAGE_LIMIT',
};

/** The cause that a notice proves; null if it proves none. */
export function causeOfNotice(notice: string | null): EndCause | null {
  return notice !== null && isCause(notice) ? (NOTICED[notice] ?? null) : null;
}
