/** The part of `process.stdout` and `process.stderr` that the command line uses. */
export interface TextStream {
  write(text: string, done?: () => void): boolean;
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

/** Resolves when everything written so far has left the process, or failed to. */
export function flushed(stream: TextStream): Promise<void> {
  return new Promise((resolve) => {
    stream.write('', () => resolve());
  });
}
