import { readFileSync, statfsSync } from 'node:fs';
import type { StageFacts } from '../../../domain/grace/stage-admission.ts';
import { limitOf } from '../../../volumes/ephemeral-limit.ts';
import { requestedMemory } from '../../notices/container-memory.ts';
import type { StageFolder } from './stage-folder.ts';

/** Filled by the downward API (`resourceFieldRef: requests.memory`). */
const REQUEST_VARIABLE = 'HOLDFAST_MEMORY_REQUEST';

/**
 * The memory request of the container from the environment; null when it is not set. The value is 0
 * for a container without a request.
 */
export function memoryRequest(env: Readonly<Record<string, string | undefined>>): number | null {
  const text = env[REQUEST_VARIABLE] ?? '';
  return text === '' ? null : limitOf(REQUEST_VARIABLE, text) || null;
}

/** Reads the current memory use for the processes that train. */
export function memoryFacts(
  { parent, isShared }: StageFolder,
  requestBytes: number | null,
  pids: readonly number[],
): Omit<StageFacts, 'lastBytes' | 'keptBytes'> {
  const { bavail, bsize } = statfsSync(parent);
  return {
    freeBytes: bavail * bsize,
    isShared,
    container: requestedMemory(requestBytes),
    availableBytes: kibibytesIn('/proc/meminfo', 'MemAvailable'),
    riseBytes: pids.reduce((sum, pid) => sum + riseOf(pid), 0),
  };
}

/** How much more memory a process has held than it holds now. */
function riseOf(pid: number): number {
  const file = `/proc/${pid}/status`;
  const [peak, now] = [kibibytesIn(file, 'VmHWM'), kibibytesIn(file, 'VmRSS')];
  return peak === null || now === null ? 0 : Math.max(0, peak - now);
}

/** The bytes of a line such as `VmRSS:    1234 kB`; null when there is none. */
function kibibytesIn(file: string, name: string): number | null {
  try {
    const found = new RegExp(`^${name}:\\s*(\\d+) kB$`, 'm').exec(readFileSync(file, 'latin1'))?.[1];
    return found === undefined ? null : Number(found) * 1024;
  } catch {
    return null;
  }
}
