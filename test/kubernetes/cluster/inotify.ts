import { execFile } from 'node:child_process';
import { readFileSync, readdirSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { SYSTEM_PATH } from './facility.ts';
import { eventually } from './wait.ts';

const LIMIT = '/proc/sys/fs/inotify/max_user_instances';
/**
 * The inotify instances that a control plane needs, and that a kubelet with its containerd needs.
 */
const [PER_CLUSTER, PER_NODE] = [2, 6];
/** The system call number of inotify_init1, by architecture. */
const MAKE_INSTANCE: Readonly<Record<string, number>> = { x64: 294, arm64: 26 };
/** Makes up to this many instances, prints how many it got, and releases them when it ends. */
const TRY = 'my ($call, $most) = @ARGV; my $made = 0; $made++ while $made < $most && syscall($call + 0, 0) >= 0; print $made';
/** Another suite with a large cluster may be running. */
const [PATIENCE_MS, PAUSE_MS] = [10 * 60_000, 1000];
const WAY_OUT = 'end another cluster, or raise the limit with `sysctl fs.inotify.max_user_instances=512`';
const run = promisify(execFile);

/** The kernel allows each user a number of inotify instances on the whole machine. */
interface Inotify {
  readonly limit: number;
  readonly used: number;
}

/**
 * Counts the instances that are visible. Processes may end meanwhile, and some do not show their
 * open files.
 */
export function inotifyNow(): Inotify {
  const uid = process.getuid?.();
  const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const own = processes.filter((pid) => seen(() => statSync(join('/proc', pid)).uid) === uid);
  const limit = Number(seen(() => readFileSync(LIMIT, 'latin1')) ?? Infinity);
  return { limit, used: own.reduce((sum, pid) => sum + instancesOf(pid), 0) };
}

/**
 * A warning with advice when hardly any instances are left, or null. We do not change the machine's
 * limit.
 */
export function whyInotifyIsShort({ limit, used }: Inotify): string | null {
  if (limit - used >= PER_NODE) return null;
  return (
    `this machine grants a user ${limit} instances of inotify, and ${used} are in use, so daemons of a cluster may fail with "too many open files": ` +
    WAY_OUT
  );
}

export function inotifyFor(nodes: number): number {
  return PER_CLUSTER + nodes * PER_NODE;
}

interface InotifyWait {
  /** The instances that earlier clusters will still take. */
  readonly promised: () => number;
  readonly look?: () => Inotify;
  /** Tries to make this many instances and returns how many it got. */
  readonly make?: (most: number) => Promise<number>;
  readonly tell?: (text: string) => void;
  readonly signal?: AbortSignal | undefined;
  readonly patienceMs?: number;
  readonly pauseMs?: number;
}

/**
 * Waits until there are enough instances for a cluster of this many nodes, and prints the reason. A
 * daemon without an instance fails later with an unclear message. Other containers hold instances
 * that are not visible, so it also tries to make some. It tries only if enough seem free, and
 * leaves the instances that other clusters wait for.
 */
export async function whenInotifyIsFree(nodes: number, wait: InotifyWait): Promise<void> {
  const { promised, look = inotifyNow, make = makeInotify, tell = (text) => void process.stderr.write(text) } = wait;
  const { limit } = look();
  const needed = inotifyFor(nodes);
  const who = `a cluster of ${nodes === 1 ? '1 node' : `${nodes} nodes`}`;
  if (needed > limit) throw new Error(`${who} needs ${needed} instances of inotify, and this machine grants a user ${limit}: ${WAY_OUT}`);
  const rule = `${needed} instances of inotify for ${who}, of the ${limit} that this machine grants a user`;
  let isTold = false;
  const isEnough = async (): Promise<true | null> => {
    const isSeen = limit - look().used >= needed + promised();
    if (isSeen && (await make(needed)) >= needed) return true;
    if (!isTold) tell(`waiting for ${rule}: others have them …\n`);
    isTold = true;
    return null;
  };
  const { signal, patienceMs = PATIENCE_MS, pauseMs = PAUSE_MS } = wait;
  await eventually(`${rule} (${WAY_OUT}),`, isEnough, { signal, patienceMs, pauseMs });
}

/** How many instances can be made now; all of them where it cannot try. */
async function makeInotify(most: number): Promise<number> {
  const call = MAKE_INSTANCE[process.arch];
  if (call === undefined) return most;
  try {
    const { stdout } = await run('perl', ['-e', TRY, String(call), String(most)], { env: { PATH: SYSTEM_PATH } });
    return Number(stdout);
  } catch {
    return most;
  }
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
