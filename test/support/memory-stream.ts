import type { TextStream } from '../../src/cli/output/stream.ts';

export interface MemoryStream extends TextStream {
  /** Everything written so far. */
  text(): string;
}

/** A stream that keeps everything written: the terminal or pipe of a test. */
export function memoryStream(facts: Pick<TextStream, 'isTTY' | 'columns'> = {}): MemoryStream {
  let written = '';
  return {
    ...facts,
    write(text, done) {
      written += text;
      done?.();
      return true;
    },
    on: () => undefined,
    text: () => written,
  };
}
