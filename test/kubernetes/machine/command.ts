import { quoted } from '../../../src/cli/frame/completion/model.ts';

export interface Wish {
  readonly command: readonly string[];
  /** Files of the working tree that are copied back after the command. */
  readonly bring: readonly string[];
}

export const USAGE = `npm run cgroup2 -- COMMAND [ARGUMENT…]
    runs a command of this working tree under a kernel of its own (user-mode Linux) that sees this machine's files and has control groups of
    version 2; what it writes is thrown away
npm run cgroup2 -- --bring=FILE COMMAND [ARGUMENT…]
    and brings this file of the working tree back as the command has left it; may be given several times

npm run cgroup2 -- npx vitest run --project kubernetes test/kubernetes/manifests.test.ts
`;

/**
 * The parsed command line, or a text with the part that was not understood. Options after the
 * command belong to the command.
 */
export function wishOf(args: readonly string[]): Wish | string {
  const first = args.findIndex((each) => !each.startsWith('-'));
  const [options, command] = first < 0 ? [args, []] : [args.slice(0, first), args.slice(first)];
  const bring = options.map((option) => /^--bring=(.+)$/.exec(option)?.[1]);
  const unknown = options.filter((_, index) => bring[index] === undefined);
  if (unknown.length > 0) return `not understood: ${unknown.join(' ')}`;
  const files = bring.filter((file) => file !== undefined);
  const outside = files.find((file) => file.startsWith('/') || file.split('/').includes('..'));
  if (outside !== undefined) return `--bring=${outside}: a file of the working tree, named from its root`;
  return command.length === 0 ? 'there is no command' : { command, bring: files };
}

interface GuestCommand extends Wish {
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
}

/**
 * The script of the machine's first process: it runs the command, stores its exit code and the
 * files to bring back, and ends the machine.
 */
export function guestScript({ command, bring, folder, environment }: GuestCommand): string {
  const variables = Object.entries(environment).map(([name, value]) => `export ${name}=${quoted(value)}`);
  const brought = bring.map((file, index) => `cp ${quoted(`${folder}/${file}`)} /run/machine/brought-${index}`);
  return [
    ...variables,
    // The limit of open files on a machine that systemd has started.
    'ulimit -n 65536',
    'echo 1024 > /proc/sys/fs/inotify/max_user_instances',
    'mkfifo /run/said',
    // To a terminal, test reporters would draw.
    'cat /run/said > /dev/ttyS0 &',
    'reader=$!',
    'touch /run/machine/started',
    `(cd ${quoted(folder)} && ${command.map(quoted).join(' ')}) < /dev/null > /run/said 2>&1`,
    'code=$?',
    // Any process that still runs holds the pipe open.
    'for process in /proc/[0-9]*; do',
    '  case "${process#/proc/}" in 1 | "$reader") ;; *) kill -KILL "${process#/proc/}" 2> /dev/null ;; esac',
    'done',
    'wait "$reader"',
    ...brought,
    'echo "$code" > /run/machine/code',
    'sync',
    'exec /run/busybox poweroff -f',
    '',
  ].join('\n');
}

/** The part of the caller's environment that the command gets. */
export function passedOn(environment: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  const isPassedOn = (name: string): boolean => /^(PATH|HOME|LANG|CI|HOLDFAST_\w+|XDG_CACHE_HOME)$/.test(name);
  return Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) => (value !== undefined && isPassedOn(name) ? [[name, value] as const] : [])),
  );
}
