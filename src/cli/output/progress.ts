import { formatBytes } from '../../core/bytes.ts';
import type { Clock } from '../../core/clock.ts';
import { formatDuration } from '../../core/duration.ts';
import { printable, printableJson } from '../../core/printable.ts';
import type { TextStream } from './stream.ts';
import { displayWidth, fitWidth } from './width.ts';

/** The progress of one piece of work. */
export interface ProgressUpdate {
  /** The current activity: `reading`. */
  readonly phase: string;
  readonly done: number;
  /** 0 while it is not known. */
  readonly total: number;
  /** `bytes` are shown as sizes; anything else is a plural noun. */
  readonly unit: string;
  /** The current item: a path. */
  readonly current: string;
}

/**
 * Reports the progress of a command to a person or a program. The caller may call it as often as it
 * likes.
 */
export interface Progress {
  update(update: ProgressUpdate): void;
  /**
   * Removes the line from the terminal, so that other output can follow. The next update may draw
   * it again.
   */
  clear(): void;
}

/** The mode, stream and clock of a progress display. */
export interface ProgressOptions {
  readonly mode: 'auto' | 'json' | 'none';
  readonly stream: TextStream;
  readonly clock: Clock;
}

/** Nothing is shown for a command that ends within this time. */
const PATIENCE_MS = 1000;
const INTERVAL_MS = 100;

/** A progress display for this mode and stream. */
export function createProgress({ mode, stream, clock }: ProgressOptions): Progress {
  if (mode === 'json') return new JsonProgress(stream, clock);
  return mode === 'auto' && stream.isTTY === true ? new ProgressLine(stream, clock) : SILENT;
}

const SILENT: Progress = { update() {}, clear() {} };

/** One line that is redrawn in place. */
class ProgressLine implements Progress {
  readonly #stream: TextStream;
  readonly #clock: Clock;
  readonly #started: number;
  #nextDraw: number;
  #drawn = false;

  constructor(stream: TextStream, clock: Clock) {
    this.#stream = stream;
    this.#clock = clock;
    this.#started = clock.monotonic();
    this.#nextDraw = this.#started + PATIENCE_MS;
  }

  update(update: ProgressUpdate): void {
    const now = this.#clock.monotonic();
    if (now < this.#nextDraw) return;
    this.#nextDraw = now + INTERVAL_MS;
    this.#drawn = true;
    this.#stream.write(`\r\u001b[2K${progressText(update, now - this.#started, (this.#stream.columns || 80) - 1)}`);
  }

  clear(): void {
    if (this.#drawn) this.#stream.write('\r\u001b[2K');
    this.#drawn = false;
  }
}

/**
 * A JSON object per line, for a program that shows progress itself. Always prints the last state.
 */
class JsonProgress implements Progress {
  readonly #stream: TextStream;
  readonly #clock: Clock;
  #nextLine = -Infinity;
  #held: ProgressUpdate | null = null;

  constructor(stream: TextStream, clock: Clock) {
    this.#stream = stream;
    this.#clock = clock;
  }

  update(update: ProgressUpdate): void {
    const now = this.#clock.monotonic();
    if (now < this.#nextLine) {
      this.#held = update;
      return;
    }
    this.#nextLine = now + INTERVAL_MS;
    this.#held = null;
    this.#write(update);
  }

  clear(): void {
    if (this.#held !== null) this.#write(this.#held);
    this.#held = null;
  }

  #write({ phase, done, total, unit, current }: ProgressUpdate): void {
    this.#stream.write(`${printableJson(JSON.stringify({ progress: { phase, done, total, unit, current } }))}\n`);
  }
}

/** `reading 1.2 GiB of 8 GiB (15 %), 12s left  step-100/model.pt`, cut to the available columns. */
export function progressText({ phase, done, total, unit, current }: ProgressUpdate, elapsedMs: number, columns: number): string {
  const amount = unit === 'bytes' ? formatBytes : (count: number): string => `${count} ${unit}`;
  const plain = unit === 'bytes' ? formatBytes(done) : String(done);
  let text = `${phase} ${total > 0 ? `${plain} of ${amount(total)} (${Math.floor((100 * done) / total)} %)` : amount(done)}`;
  if (total > done && done > 0) text += `, ${formatDuration(Math.ceil((elapsedMs * (total - done)) / done / 1000) * 1000)} left`;
  const room = columns - displayWidth(text) - 2;
  return fitWidth(room > 8 ? `${text}  ${fitStart(printable(current), room)}` : text, columns);
}

/** The end of a path is more useful than its beginning. */
function fitStart(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  const chars = Array.from(text);
  let start = chars.length;
  let width = 1;
  while (start > 0 && width + displayWidth(chars[start - 1] ?? '') <= columns) width += displayWidth(chars[--start] ?? '');
  return `…${chars.slice(start).join('')}`;
}
