import { stripVTControlCharacters } from 'node:util';

const INVISIBLE = /^[\p{Mark}\p{Default_Ignorable_Code_Point}\p{Control}]$/u;
const EMOJI = /^\p{Emoji_Presentation}$/u;

/**
 * First and last of the blocks whose characters take two columns (East Asian wide and fullwidth).
 */
const WIDE: readonly (readonly [number, number])[] = [
  [0x1100, 0x115f],
  [0x2e80, 0x303e],
  [0x3041, 0x33ff],
  [0x3400, 0x4dbf],
  [0x4e00, 0x9fff],
  [0xa000, 0xa4cf],
  [0xa960, 0xa97f],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe30, 0xfe6f],
  [0xff01, 0xff60],
  [0xffe0, 0xffe6],
  [0x20000, 0x3fffd],
];

/** How many terminal columns the text takes; colour codes take none. */
export function displayWidth(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const char of stripVTControlCharacters(text)) width += charWidth(char);
  return width;
}

/**
 * The text cut to at most `columns`, marked by `…` where something was cut. Without colour codes.
 */
export function fitWidth(text: string, columns: number): string {
  const plain = stripVTControlCharacters(text);
  if (displayWidth(plain) <= columns) return plain;
  let width = 0;
  let kept = '';
  for (const char of plain) {
    width += charWidth(char);
    if (width > columns - 1) break;
    kept += char;
  }
  return columns > 0 ? `${kept}…` : '';
}

function charWidth(char: string): number {
  const code = char.codePointAt(0) ?? 0;
  if (code < 0x300) return code < 0x20 || (code >= 0x7f && code < 0xa0) || code === 0xad ? 0 : 1;
  if (INVISIBLE.test(char)) return 0;
  return EMOJI.test(char) || WIDE.some(([first, last]) => code >= first && code <= last) ? 2 : 1;
}
