import { HoldfastError, toError } from '../../core/errors.ts';
import { printable, printableJson } from '../../core/printable.ts';
import type { TextStream } from './stream.ts';
import { createStyle } from './style.ts';

/** Where and how an error is printed. */
export interface ErrorOutput {
  readonly stderr: TextStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** One JSON object on one line instead of text. */
  readonly asJson: boolean;
  readonly noColor: boolean;
}

const DEFECT_HINT = 'This is a defect in Holdfast. Please report the command and its output; HOLDFAST_DEBUG=1 shows where it happened.';

/**
 * Prints the error that ended the command: `error CODE: message` and the way out. Prints the stack
 * only on request.
 */
export function printError(thrown: unknown, { stderr, env, asJson, noColor }: ErrorOutput): void {
  const error = toError(thrown);
  const [code, hint] = error instanceof HoldfastError ? [error.code, error.hint] : ['INTERNAL', DEFECT_HINT];
  // If the reader closed the pipe, the error line has no reader either.
  if (code === 'OUTPUT_CLOSED') return;
  if (asJson) stderr.write(`${printableJson(JSON.stringify({ error: { code, message: error.message, hint: hint ?? null } }))}\n`);
  else {
    const style = createStyle({ stream: stderr, env, noColor });
    const first = error.message.split('\n', 1)[0] ?? '';
    stderr.write(`${style.red(style.bold(`error ${code}:`))} ${printable(error instanceof HoldfastError ? error.message : first)}\n`);
    if (hint !== undefined) stderr.write(`  ${printable(hint)}\n`);
  }
  if ((env['HOLDFAST_DEBUG'] ?? '') !== '') stderr.write(`${stackOf(error)}\n`);
}

function stackOf(error: Error): string {
  const own = error.stack ?? String(error);
  return error.cause instanceof Error ? `${own}\ncaused by ${stackOf(error.cause)}` : own;
}
