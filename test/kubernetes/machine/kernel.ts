/** What a machine is started with; all of it paths on the machine below. */
export interface MachineFiles {
  /** Its first process. */
  readonly init: string;
  /** What was unpacked: the modules, and what loads them. */
  readonly tools: string;
  /** The folder through which the two machines speak. */
  readonly exchange: string;
  /** A disk with an empty ext4, for all that is written. */
  readonly scratch: string;
}

const MEMORY_MIB = 8192;

/**
 * In a process namespace of its own, which the kernel below ends with its first process, and that one with whoever started it: a process of the machine
 * is one below too. What the kernel says goes to its standard output; what the command says, to descriptor 3.
 */
export function machineCommand({ init, tools, exchange, scratch }: MachineFiles): readonly [string, ...string[]] {
  return [
    'setpriv',
    ...['--pdeathsig', 'KILL'],
    ...['unshare', '--pid', '--mount', '--fork', '--kill-child=KILL', '--mount-proc'],
    // As the first process there it could not end itself when it panics.
    ...['sh', '-c', '"$@"; exit "$?"', 'sh'],
    `${tools}/usr/bin/linux.uml`,
    `mem=${MEMORY_MIB}M`,
    ...['root=/dev/root', 'rootfstype=hostfs', 'rootflags=/', 'ro', `init=${init}`],
    // It hands on what it does not know.
    ...[`tools=${tools}`, `exchange=${exchange}`],
    `ubd0=${scratch}`,
    ...['con=null', 'con0=null,fd:1', 'ssl=null', 'ssl0=null,fd:3'],
    ...['panic=-1', 'cgroup_no_v1=all', 'random.trust_cpu=on', 'selinux=0', 'quiet'],
  ];
}
