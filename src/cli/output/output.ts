import { printableJson } from '../../core/printable.ts';
import type { Clock } from '../../core/clock.ts';
import { createLiveBlock, type LiveBlock } from './live-block.ts';
import { createProgress, type Progress } from './progress.ts';
import type { TextStream } from './stream.ts';
import { createStyle, type Style } from './style.ts';

/**
 * Where and how a command speaks: results go to standard output, everything else to standard error.
 */
export interface Output {
  /** The result is wanted as one JSON document. */
  readonly json: boolean;
  readonly quiet: boolean;
  /** Colours for standard output. */
  readonly style: Style;
  /** Columns that text for people may take. */
  readonly columns: number;
  readonly progress: Progress;
  /** A part of the result that is redrawn while it grows. */
  readonly block: LiveBlock;
  /** Prints lines of the result. */
  print(...lines: readonly string[]): void;
  /** Prints the result as JSON. */
  printJson(value: unknown): void;
  /** Prints a remark about the result for a person; silent with `--quiet` and `--json`. */
  note(text: string): void;
}

/** The streams and options that an output is made from. */
export interface OutputOptions {
  readonly stdout: TextStream;
  readonly stderr: TextStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** The options of the same names, which every command takes. */
  readonly values: {
    readonly json: boolean;
    readonly quiet: boolean;
    readonly 'no-color': boolean;
    readonly progress: 'auto' | 'json' | 'none';
  };
}

/** Text for people is wrapped here even on a wider terminal: longer lines are hard to read. */
const WIDEST = 110;
const PIPE_COLUMNS = 100;

/** The output of a command, as its options ask for it. */
export function createOutput({ stdout, stderr, env, clock, values }: OutputOptions): Output {
  const mode = values.quiet && values.progress === 'auto' ? 'none' : values.progress;
  const progress = createProgress({ mode, stream: stderr, clock });
  const print = (...lines: readonly string[]): void => {
    progress.clear();
    stdout.write(lines.map((line) => `${line}\n`).join(''));
  };
  return {
    json: values.json,
    quiet: values.quiet,
    style: createStyle({ stream: stdout, env, noColor: values['no-color'] }),
    // A terminal that does not know its width reports 0.
    columns: Math.min(WIDEST, stdout.columns || PIPE_COLUMNS),
    progress,
    block: createLiveBlock(stdout),
    print,
    printJson: (value) => print(printableJson(JSON.stringify(value, null, 2))),
    note(text) {
      if (values.quiet || values.json) return;
      progress.clear();
      stderr.write(`${text}\n`);
    },
  };
}
