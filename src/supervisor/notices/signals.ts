/**
 * The signals that the supervisor handles on purpose. Without a listener, SIGUSR1 would open a
 * debugger, and PID 1 would ignore SIGTERM. SIGQUIT (Ctrl-\, or an image's stop signal) and SIGUSR2
 * (the warning of some schedulers) would kill the supervisor and leave the trainer behind.
 */
const HEARD = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const;
/** A signal that the supervisor handles. */
export type HeardSignal = (typeof HEARD)[number];

/** The part of a process that signals come from; the real one, or a test's. */
export interface SignalHub {
  on(event: HeardSignal, listener: () => void): unknown;
}

/**
 * Handles signals until `over` is aborted, and ignores them from then on. The listeners stay,
 * although they keep no process alive. Without them a signal in the last moments would replace the
 * exit code with its own.
 */
export function hearSignals(hub: SignalHub, onSignal: (name: HeardSignal) => void, over: AbortSignal): void {
  for (const name of HEARD)
    hub.on(name, () => {
      if (!over.aborted) onSignal(name);
    });
}
