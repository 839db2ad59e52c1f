import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What the container may hold in memory, and what of it could not be given back at once. */
export interface ContainerMemory {
  readonly limitBytes: number;
  /** The working set: all that is charged to it, less file pages that nobody has touched for a while. */
  readonly usedBytes: number;
}

/** How the two versions of control groups name the same things; the first that is there counts. */
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

/** The memory of the control group that a container sees as its own; null where there is no limit, or none can be seen. */
export function containerMemory(root = ROOT): ContainerMemory | null {
  const memory = usageOf(root);
  return memory === null || memory.limitBytes >= NO_LIMIT_BYTES ? null : memory;
}

/**
 * The same, with what the container has requested as its limit where that is less: above its request a pod is among the first to be evicted when
 * the node is short of memory.
 */
export function requestedMemory(requestBytes: number | null, root = ROOT): (ContainerMemory & { readonly isRequest: boolean }) | null {
  const memory = usageOf(root);
  if (memory === null) return null;
  const isRequest = requestBytes !== null && requestBytes < memory.limitBytes;
  const limitBytes = isRequest ? requestBytes : memory.limitBytes;
  return limitBytes >= NO_LIMIT_BYTES ? null : { ...memory, limitBytes, isRequest };
}

/** Without a limit it is beyond all bounds. */
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
