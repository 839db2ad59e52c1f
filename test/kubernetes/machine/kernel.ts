/** The files that a machine starts with; all are paths on the host. */
export interface MachineFiles {
  /** The machine's first process. */
  readonly init: string;
  /** The unpacked packages: kernel modules and the programs that load them. */
  readonly tools: string;
  /** The folder through which host and machine exchange files. */
  readonly exchange: string;
  /** A disk image with an empty ext4, for everything that is written. */
  readonly scratch: string;
}

const MEMORY_MIB = 8192;

/**
 * The kernel runs in a process namespace of its own. It ends with its first process, and that
 * process ends with its parent, because a process of the machine is also a process of the host. The
 * kernel prints to its standard output; the command prints to descriptor 3.
 */
export function machineCommand({ init, tools, exchange, scratch }: MachineFiles): readonly [string, ...string[]] {
  return [
    'setpriv',
    ...['--pdeathsig', 'KILL'],
    ...['unshare', '--pid', '--mount', '--fork', '--kill-child=KILL', '--mount-proc'],
    // As the namespace's first process, the kernel could not end itself after a panic.
    ...['sh', '-c', '"$@"; exit "$?"', 'sh'],
    `${tools}/usr/bin/linux.uml`,
    `mem=${MEMORY_MIB}M`,
    ...['root=/dev/root', 'rootfstype=hostfs', 'rootflags=/', 'ro', `init=${init}`],
    // The kernel passes unknown options on to its first process.
    ...[`tools=${tools}`, `exchange=${exchange}`],
    `ubd0=${scratch}`,
    ...['con=null', 'con0=null,fd:1', 'ssl=null', 'ssl0=null,fd:3'],
    ...['panic=-1', 'cgroup_no_v1=all', 'random.trust_cpu=on', 'selinux=0', 'quiet'],
  ];
}
