/** Set by the launcher for the supervisor alone: SigIgn of /proc/PID/status, as it was before the runtime started. */
export const IGNORED_VARIABLE = 'HOLDFAST_IGNORED_SIGNALS';

/** What shells and nohup ignore for a command in the background, by its bit. SIGTERM is none of them: whoever ends a machine must be heard. */
const IGNORABLE = { SIGHUP: 1, SIGINT: 2, SIGQUIT: 4 } as const;
type Ignorable = keyof typeof IGNORABLE;

/**
 * The signals that this process was started to ignore (`nohup`, or `&` in a script). Node.js gives every signal its default effect again when it
 * starts, so that only its launcher can tell.
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

/** The same hub, on which nobody hears these signals. */
export function withoutSignals<Name extends string>(hub: Hub<Name>, ignored: readonly string[]): Hub<Name> {
  return {
    on: (event, listener) => ignored.includes(event) || hub.on(event, listener),
    off: (event, listener) => ignored.includes(event) || hub.off(event, listener),
  };
}
