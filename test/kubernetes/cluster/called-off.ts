/**
 * What a command is called off by: Ctrl-C, or the end of its terminal. It may come again while what was made is taken down, which goes on: whoever ended
 * then would leave it.
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
