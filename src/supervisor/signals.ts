/** The signals the supervisor answers on purpose. Without a listener, SIGUSR1 would open a debugger and PID 1 would not hear SIGTERM. */
const HEARD = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR1'] as const;
export type HeardSignal = (typeof HEARD)[number];

/** The part of a process that signals come from; the real one, or a test's. */
export interface SignalHub {
  on(event: HeardSignal, listener: () => void): unknown;
  off(event: HeardSignal, listener: () => void): unknown;
}

/** Hears signals until the returned function is called. A signal is a state ("somebody wants an end"), not an event to be counted. */
export function hearSignals(hub: SignalHub, onSignal: (name: HeardSignal) => void): () => void {
  const listeners = HEARD.map((name) => [name, () => onSignal(name)] as const);
  for (const [name, listener] of listeners) hub.on(name, listener);
  return () => {
    for (const [name, listener] of listeners) hub.off(name, listener);
  };
}
