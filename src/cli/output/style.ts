import { styleText } from 'node:util';
import type { TextStream } from './stream.ts';

const NAMES = ['bold', 'dim', 'red', 'green', 'yellow', 'blue', 'cyan'] as const;

/** Colours text, or leaves it unchanged when colours are off. */
export type Style = Readonly<Record<(typeof NAMES)[number], (text: string) => string>>;

/** The facts that decide about colours. */
interface ColorWishes {
  readonly stream: Pick<TextStream, 'isTTY'>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** `--no-color` was given. */
  readonly noColor: boolean;
}

/**
 * Colours for the stream. The nearest wish wins: `--no-color`, then FORCE_COLOR, then NO_COLOR,
 * then what the terminal can do.
 */
export function createStyle(wishes: ColorWishes): Style {
  const colored = wantsColor(wishes);
  return Object.fromEntries(
    NAMES.map((name) => [name, colored ? (text: string) => styleText(name, text, { validateStream: false }) : (text: string) => text]),
  ) as unknown as Style;
}

/** Decides whether to colour the output. */
export function wantsColor({ stream, env, noColor }: ColorWishes): boolean {
  if (noColor) return false;
  const force = env['FORCE_COLOR'];
  if (force !== undefined) return force !== '0' && force !== 'false';
  if ((env['NO_COLOR'] ?? '') !== '') return false;
  return stream.isTTY === true && env['TERM'] !== 'dumb';
}
