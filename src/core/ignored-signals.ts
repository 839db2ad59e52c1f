/**
 * Set by the launcher for the supervisor alone: SigIgn of /proc/PID/status, before the runtime
 * started.
 */
export const IGNORED_VARIABLE = 'HOLDFAST_IGNORED_SIGNALS';

/**
 * The signals that shells and nohup ignore for a background command, by bit. SIGTERM stays audible,
 * because it announces the end of the machine.
 */
const IGNORABLE = { SIGHUP: 1, SIGINT: 2, SIGQUIT: 4 } as const;
type Ignorable = keyof typeof IGNORABLE;

/**
 * The signals that this process was started to ignore (`nohup`, or `&` in a script). Node.js resets
 * every signal to its default effect at start, so only the launcher knows them.
 */
export function ignoredSignals(env: Readonly<Record<string, string | undefined>>): readonly Ignorable[] {
  const mask = env[IGNORED_VARIABLE] ?? '';
  if (!/^[0-9a-f]{1,32}$/i.test(mask)) return [];
  const bits = Number.parseInt(mask.slice(-1), 16);
  return (Object.keys(IGNORABLE) as Ignorable[]).filter((name) => (bits & IGNORABLE[name]) !== 0);
}

interface Hub<Name extends string> {
  on(event: Name, listener: () => void): unknown;
  off(event: Name, listener: () => void): unknown;
}

/** The same hub with these signals silenced. */
export function withoutSignals<Name extends string>(hub: Hub<Name>, ignored: readonly string[]): Hub<Name> {
  return {
    on: (event, listener) => ignored.includes(event) || hub.on(event, listener),
    off: (event, listener) => ignored.includes(event) || hub.off(event, listener),
  };
}
