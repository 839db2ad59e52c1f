/**
 * The signals that cancel a command: Ctrl-C, or the end of its terminal. They may come again during
 * the clean-up, which continues: an early exit would leave the cluster behind.
 */
export function calledOff(tell: (text: string) => void): AbortSignal {
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      tell(stop.signal.aborted ? `${name} came again: still taking down what was made …\n` : `${name} came: taking down what was made …\n`);
      stop.abort(new Error(`${name} came`));
    });
  }
  return stop.signal;
}
