import type { EndCause } from './catalogue.ts';

/** The kubelet’s messages, as in its sources, and the cause of each. The first match counts. */
const WORDS: readonly (readonly [RegExp, EndCause])[] = [
  [/^Pod was rejected|^The node had condition|^Node is shutting down|admission failed|Unexpected Admission/i, 'POD_REJECTED'],
  [/Usage of EmptyDir volume/i, 'EMPTY_DIR_LIMIT'],
  [/exceeds the total limit of containers|exceeded its local ephemeral storage limit/i, 'EPHEMERAL_STORAGE_LIMIT'],
  [/low on resource: (?:memory|.*allocatableMemory)/i, 'MEMORY_PRESSURE'],
  [/low on resource: (?:ephemeral-storage|.*inodes|.*nodefs|.*imagefs|.*containerfs)/i, 'DISK_PRESSURE'],
  [/low on resource: pids/i, 'PID_PRESSURE'],
  [/low on resource/i, 'NODE_PRESSURE'],
  [/imminent node shutdown/i, 'MACHINE_SHUTDOWN'],
  [/to accommodate a critical pod|in order to admit critical pod/i, 'CRITICAL_POD'],
];

/** The reasons that the kubelet gives when it rejects a pod. */
const REJECTIONS =
  /^(?:NodeShutdown|NodeAffinity|OutOf\w+|Unexpected\w*|UnexpectedAdmissionError|TaintToleration|\w*AdmissionError|Outofcpu|OutOfmemory|OutOfpods)$/i;

/** The cause that a kubelet message names; null if it is not one of its messages. */
export function causeInWords(message: string | null): EndCause | null {
  if (message === null) return null;
  // The API server bounds the message; a dump does not.
  const text = message.slice(0, 4096);
  return WORDS.find(([words]) => words.test(text))?.[1] ?? null;
}

/** Whether the kubelet gives this reason to a pod that it rejects. */
export function isRejection(reason: string | null): boolean {
  return reason !== null && REJECTIONS.test(reason);
}
