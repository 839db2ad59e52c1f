/**
 * Controls, format characters (direction marks, joiners, tags), half surrogate pairs, and the
 * separators of lines and paragraphs.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** The text with every terminal control (controls, escapes, direction marks) written as `\xNN`. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (char) => {
    const code = char.codePointAt(0) ?? 0;
    if (code > 0xffff) return `\\u{${code.toString(16)}}`;
    return code < 256 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`;
  });
}

/**
 * Like {@link printable}, cut to `max` characters. Copies the part, because a slice would keep the
 * whole string in memory.
 */
export function excerpt(text: string, max = 80): string {
  const start = text.length > max * 4 ? copied(text.slice(0, max * 4)) : text;
  const clean = printable(start);
  return clean.length > max ? `${copied(clean.slice(0, max - 1))}…` : clean;
}

function copied(text: string): string {
  return Buffer.from(text).toString();
}

/**
 * JSON for a terminal or a file: the same document, with terminal controls written as JSON's own
 * `\uNNNN`.
 */
export function printableJson(json: string): string {
  return json.replace(JSON_UNPRINTABLE, (char) =>
    Array.from({ length: char.length }, (_, i) => `\\u${char.charCodeAt(i).toString(16).padStart(4, '0')}`).join(''),
  );
}

/**
 * `JSON.stringify` escapes everything below 0x20 in strings, and the whitespace between values is
 * intended.
 */
const JSON_UNPRINTABLE = /[\u007f-\u009f\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
