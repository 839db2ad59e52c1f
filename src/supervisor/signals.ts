/**
 * The signals the supervisor answers on purpose. Without a listener, SIGUSR1 would open a debugger, PID 1 would not hear SIGTERM, and SIGQUIT (Ctrl-\, and what some
 * images are stopped with) and SIGUSR2 (with which some schedulers warn) would end the supervisor and leave the trainer behind.
 */
const HEARD = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const;
export type HeardSignal = (typeof HEARD)[number];

/** The part of a process that signals come from; the real one, or a test's. */
export interface SignalHub {
  on(event: HeardSignal, listener: () => void): unknown;
}

/**
 * Hears signals until `over` is aborted. From then on they mean nothing any more; they keep no process alive, and without a listener one that comes in its last moments
 * would put its own end in the place of the exit code.
 */
export function hearSignals(hub: SignalHub, onSignal: (name: HeardSignal) => void, over: AbortSignal): void {
  for (const name of HEARD)
    hub.on(name, () => {
      if (!over.aborted) onSignal(name);
    });
}
