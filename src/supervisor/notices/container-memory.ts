import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The memory limit of a container, and its use that the kernel cannot reclaim at once. */
export interface ContainerMemory {
  readonly limitBytes: number;
  /**
   * The working set: all memory charged to the container, less file pages that were not used for a
   * while.
   */
  readonly usedBytes: number;
}

/** The names in the two versions of control groups; the first version that is found counts. */
const VERSIONS = [
  { limit: 'memory.max', usage: 'memory.current', stat: 'memory.stat', inactive: 'inactive_file' },
  {
    limit: 'memory/memory.limit_in_bytes',
    usage: 'memory/memory.usage_in_bytes',
    stat: 'memory/memory.stat',
    inactive: 'total_inactive_file',
  },
] as const;

/** The first version writes a number near this when there is no limit. */
const NO_LIMIT_BYTES = 2 ** 60;

const ROOT = '/sys/fs/cgroup';

/**
 * The memory of the control group that a container sees as its own; null when it has no limit, or
 * none is visible.
 */
export function containerMemory(root = ROOT): ContainerMemory | null {
  const memory = usageOf(root);
  return memory === null || memory.limitBytes >= NO_LIMIT_BYTES ? null : memory;
}

/**
 * The container's memory, with its request as the limit if that is lower. When the node is short of
 * memory, the kubelet first evicts pods that use more than they requested.
 */
export function requestedMemory(requestBytes: number | null, root = ROOT): (ContainerMemory & { readonly isRequest: boolean }) | null {
  const memory = usageOf(root);
  if (memory === null) return null;
  const isRequest = requestBytes !== null && requestBytes < memory.limitBytes;
  const limitBytes = isRequest ? requestBytes : memory.limitBytes;
  return limitBytes >= NO_LIMIT_BYTES ? null : { ...memory, limitBytes, isRequest };
}

/** The limit and use of a control group; the limit is infinite when none is set. */
function usageOf(root: string): ContainerMemory | null {
  for (const { limit, usage, stat, inactive } of VERSIONS) {
    const used = numberIn(root, usage);
    if (used === null) continue;
    const found = new RegExp(`^${inactive} (\\d+)$`, 'm').exec(textOf(root, stat))?.[1];
    return { limitBytes: numberIn(root, limit) ?? Infinity, usedBytes: Math.max(0, used - Number(found ?? 0)) };
  }
  return null;
}

function numberIn(root: string, name: string): number | null {
  const text = textOf(root, name).trim();
  return /^\d+$/.test(text) ? Number(text) : null;
}

function textOf(root: string, name: string): string {
  try {
    return readFileSync(join(root, name), 'latin1');
  } catch {
    return '';
  }
}
