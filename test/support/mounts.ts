import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stopProcess } from './stop-process.ts';
import { tempFolder } from './temp-folder.ts';

export interface Mounted extends Disposable {
  /** Where it is mounted. */
  readonly path: string;
}

/**
 * File systems that are made in an image file, with slightly more than the least size that each
 * accepts.
 */
const LOOP_MIB = { ext2: 64, ext3: 64, ext4: 128, xfs: 512, btrfs: 256 } as const;
export type LoopKind = keyof typeof LOOP_MIB;

/** Why nothing can be mounted here, or null. */
export function whyNoMounts(): string | null {
  if (process.platform !== 'linux') return `mounts are tried on Linux only, this is ${process.platform}`;
  if (process.getuid?.() !== 0) return 'mounting needs root';
  using folder = tempFolder();
  const tried = spawnSync('mount', ['-t', 'tmpfs', 'tmpfs', folder.path], { encoding: 'utf8' });
  if (tried.status !== 0) return `mounting is not allowed here: ${tried.error?.message ?? tried.stderr.trim()}`;
  run('umount', folder.path);
  return null;
}

/** Why this kind cannot be mounted from an image, or null. */
export function whyNoLoop(kind: LoopKind): string | null {
  const reason = whyNoMounts();
  if (reason !== null) return reason;
  if (!existsSync('/dev/loop-control')) return 'there are no loop devices';
  try {
    using tried = mountLoop(kind);
    return existsSync(tried.path) ? null : 'it vanished';
  } catch (thrown) {
    return `${kind} cannot be made or mounted here: ${String(thrown)}`;
  }
}

/** Mounts a new file system from a file; unmounted and removed at the end of the scope. */
export function mountLoop(kind: LoopKind, options = 'loop'): Mounted {
  const folder = tempFolder();
  const [image, path] = [join(folder.path, 'image'), join(folder.path, 'mnt')];
  mkdirSync(path);
  writeFileSync(image, '');
  truncateSync(image, LOOP_MIB[kind] * 2 ** 20);
  runTool(`mkfs.${kind}`, '-q', image);
  run('mount', '-t', kind, '-o', options, image, path);
  return mounted(path, folder);
}

/** Makes a mount read-only, as the kernel does after an error of the disk, or writable again. */
export function remount(path: string, mode: 'ro' | 'rw'): void {
  run('mount', '-o', `remount,${mode}`, path);
}

/** A Btrfs with a quota for all its files together. */
export function mountWithQuota(bytes: number): Mounted {
  const disk = mountLoop('btrfs');
  try {
    runTool('btrfs', 'quota', 'enable', disk.path);
    runTool('btrfs', 'qgroup', 'limit', String(bytes), disk.path);
    return disk;
  } catch (thrown) {
    disk[Symbol.dispose]();
    throw thrown;
  }
}

/** Why there are no quotas here, or null. */
export function whyNoQuota(): string | null {
  const reason = whyNoLoop('btrfs');
  if (reason !== null) return reason;
  try {
    using tried = mountWithQuota(1 << 26);
    return existsSync(tried.path) ? null : 'it vanished';
  } catch (thrown) {
    return `no quota can be set here: ${String(thrown)}`;
  }
}

export function mountTmpfs(options = 'size=64m'): Mounted {
  const folder = tempFolder();
  run('mount', '-t', 'tmpfs', '-o', options, 'tmpfs', folder.path);
  return mounted(folder.path, folder);
}

/** An overlay whose upper layer lies on its own disk, as a container's may. */
export function mountOverlay(options: readonly string[] = []): Mounted {
  const disk = mountLoop('ext4');
  const at = (name: string): string => join(disk.path, name);
  for (const name of ['lower', 'upper', 'work', 'merged']) mkdirSync(at(name));
  const layers = [`lowerdir=${at('lower')}`, `upperdir=${at('upper')}`, `workdir=${at('work')}`, ...options];
  run('mount', '-t', 'overlay', '-o', layers.join(','), 'overlay', at('merged'));
  return mounted(at('merged'), disk);
}

export interface FuseOptions {
  /** Its name in the mount table: `fuse.NAME`. */
  readonly subtype?: string;
  /** The folder behind it; a new one by default. */
  readonly behind?: string;
  /** The operations that it denies: `--rename-deny`. */
  readonly flags?: readonly string[];
}

/**
 * A FUSE file system (bindfs) that passes every operation to a folder, except those that it denies.
 */
export function mountFuse({ subtype, behind, flags = [] }: FuseOptions = {}): Mounted {
  const folder = tempFolder();
  const [own, path] = [join(folder.path, 'behind'), join(folder.path, 'mnt')];
  for (const each of [own, path]) mkdirSync(each);
  runTool('bindfs', ...flags, ...(subtype === undefined ? [] : ['-o', `subtype=${subtype}`]), behind ?? own, path);
  return mounted(path, folder);
}

export interface StoppableMount extends Mounted {
  /**
   * Resolves when no request gets an answer any more, as on a network file system without its
   * server.
   */
  hang(): Promise<void>;
  /** Lets it answer again; the end of the scope does too. */
  resume(): void;
}

/** A FUSE file system over a copy of a folder. Its server can be stopped. */
export function mountStoppable(path: string): StoppableMount {
  const folder = tempFolder();
  const [behind, mount] = [join(folder.path, 'behind'), join(folder.path, 'mnt')];
  for (const each of [behind, mount]) mkdirSync(each);
  cpSync(path, behind, { recursive: true });
  runTool('bindfs', behind, mount);
  // Not over the folder itself, which may contain files.
  run('mount', '--bind', mount, path);
  const server = serverOf(behind, mount);
  let isOver = false;
  const resume = (): void => void (isOver || process.kill(server, 'SIGCONT'));
  return {
    path,
    // A server that is still about to stop could accept a request, which then cannot be aborted.
    hang: () => stopProcess(server),
    resume,
    [Symbol.dispose]() {
      resume();
      isOver = true;
      // A request may still be about to get its answer.
      for (const each of [path, mount]) run('umount', '--lazy', each);
      folder[Symbol.dispose]();
    },
  };
}

/** The process that serves a mount of bindfs. */
function serverOf(behind: string, path: string): number {
  const found = readdirSync('/proc').find((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      return readFileSync(`/proc/${name}/cmdline`, 'utf8').endsWith(`\0${behind}\0${path}\0`);
    } catch {
      return false;
    }
  });
  if (found === undefined) throw new Error(`no process serves ${path}`);
  return Number(found);
}

export interface BucketOptions {
  readonly bucket: string;
  readonly port: number;
  readonly accessKey: string;
  readonly secretKey: string;
}

/** A bucket of an S3 server on this machine, mounted by Debian's s3fs. */
export function mountBucket({ bucket, port, accessKey, secretKey }: BucketOptions): Mounted {
  const folder = tempFolder();
  const [password, path] = [join(folder.path, 'password'), join(folder.path, 'mnt')];
  writeFileSync(password, `${accessKey}:${secretKey}\n`, { mode: 0o600 });
  mkdirSync(path);
  const options = [`passwd_file=${password}`, `url=http://127.0.0.1:${port}`, 'use_path_request_style', 'endpoint=us-east-1'];
  runTool('s3fs', bucket, path, '-o', options.join(','));
  return mounted(path, folder);
}

/** Why s3fs is not available here, or null. */
export function whyNoS3fs(): string | null {
  const reason = whyNoFuse();
  if (reason !== null) return reason;
  try {
    runTool('s3fs', '--version');
    return null;
  } catch (thrown) {
    return `there is no s3fs: ${String(thrown)}`;
  }
}

/** Why there is no FUSE here, or null. */
export function whyNoFuse(): string | null {
  const reason = whyNoMounts();
  if (reason !== null) return reason;
  try {
    using fuse = mountFuse();
    return existsSync(fuse.path) ? null : 'it vanished';
  } catch (thrown) {
    return `no FUSE file system can be mounted here: ${String(thrown)}`;
  }
}

function mounted(path: string, below: Disposable): Mounted {
  return {
    path,
    [Symbol.dispose]() {
      run('umount', path);
      below[Symbol.dispose]();
    },
  };
}

/** Debian packages of tools that only some suites need, with their libraries. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  s3fs: ['s3fs', 'libfuse2', 'libcurl3-gnutls'],
  btrfs: ['btrfs-progs', 'liblzo2-2'],
};

/** Runs a program of the machine, or the one from Debian's package in the cache folder. */
function runTool(name: string, ...args: readonly string[]): void {
  const own = ['/usr/sbin', '/sbin', '/usr/bin', '/bin'].map((folder) => join(folder, name)).find(existsSync);
  if (own !== undefined) return run(own, ...args);
  const setup = fileURLToPath(new URL('setup-mount-tools.sh', import.meta.url));
  const tools = execFileSync(setup, PACKAGES[name] ?? [], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
  const program = ['sbin', 'usr/sbin', 'bin', 'usr/bin'].map((folder) => join(tools, folder, name)).find(existsSync);
  if (program === undefined) throw new Error(`${name} is neither on this machine nor in ${tools}`);
  run('env', `LD_LIBRARY_PATH=${libraryFolders(tools).join(':')}`, program, ...args);
}

/** Debian names library folders after the processor architecture. */
function libraryFolders(tools: string): string[] {
  const parents = ['lib', 'usr/lib'].map((folder) => join(tools, folder)).filter(existsSync);
  return parents.flatMap((parent) => [parent, ...readdirSync(parent).map((name) => join(parent, name))]);
}

function run(program: string, ...args: readonly string[]): void {
  execFileSync(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
}
