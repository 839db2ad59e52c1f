const UNPRINTABLE =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** The text with everything a terminal would obey rather than show (controls, escapes, direction marks) written as `\xNN`. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (char) => {
    const code = char.charCodeAt(0);
    return code < 256 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`;
  });
}

/** Like {@link printable}, and cut to `max` characters. */
export function excerpt(text: string, max = 80): string {
  const clean = printable(text.length > max * 4 ? text.slice(0, max * 4) : text);
  return clean.length > max ? `${clean.slice(0, max - 1)}…` : clean;
}
