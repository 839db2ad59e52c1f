import { readFileSync, readdirSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';

const LIMIT = '/proc/sys/fs/inotify/max_user_instances';
/** Fewer left than a kubelet and its containerd take: whoever starts then meets the end of them. */
const PER_NODE = 6;

/** The kernel grants every user so many instances of inotify, on the whole machine. */
interface Inotify {
  readonly limit: number;
  readonly used: number;
}

/** As far as it can be seen: processes end meanwhile, and some do not show what they have open. */
export function inotifyNow(): Inotify {
  const uid = process.getuid?.();
  const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const own = processes.filter((pid) => seen(() => statSync(join('/proc', pid)).uid) === uid);
  const limit = Number(seen(() => readFileSync(LIMIT, 'latin1')) ?? Infinity);
  return { limit, used: own.reduce((sum, pid) => sum + instancesOf(pid), 0) };
}

/** Says so when hardly any are left, and what to do; the machine's limit is not ours to change. */
export function whyInotifyIsShort({ limit, used }: Inotify): string | null {
  if (limit - used >= PER_NODE) return null;
  return (
    `this machine grants a user ${limit} instances of inotify, and ${used} are in use, so daemons of a cluster may fail with "too many open files": ` +
    'end another cluster, or raise the limit with `sysctl fs.inotify.max_user_instances=512`'
  );
}

function instancesOf(pid: string): number {
  const folder = join('/proc', pid, 'fd');
  const files = seen(() => readdirSync(folder)) ?? [];
  return files.filter((name) => seen(() => readlinkSync(join(folder, name))) === 'anon_inode:inotify').length;
}

function seen<Value>(look: () => Value): Value | null {
  try {
    return look();
  } catch {
    return null;
  }
}
