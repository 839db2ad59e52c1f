import type { TextStream } from './stream.ts';

/**
 * Lines at the end of a terminal that are drawn again and again until they are done. In a pipe only
 * the last state is written.
 */
export interface LiveBlock {
  draw(lines: readonly string[]): void;
  /** The last state: these lines stay, and the next block begins below them. */
  settle(lines: readonly string[]): void;
}

/** A live block at the end of this stream. */
export function createLiveBlock(stream: TextStream): LiveBlock {
  let shown: readonly string[] = [];
  /** Redraws only from the first changed line on: redrawing unchanged lines flickers. */
  const redraw = (lines: readonly string[]): void => {
    let same = 0;
    while (same < shown.length && shown[same] === lines[same]) same += 1;
    const up = shown.length - same;
    const rest = lines.slice(same);
    if (up === 0 && rest.length === 0) return;
    stream.write(`${up === 0 ? '' : `\u001b[${up}A\r\u001b[J`}${rest.map((line) => `${line}\n`).join('')}`);
    shown = lines;
  };
  return {
    draw(lines) {
      if (stream.isTTY === true) redraw(lines);
    },
    settle(lines) {
      redraw(lines);
      shown = [];
    },
  };
}
