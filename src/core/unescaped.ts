/** A piece of a text, from its first character up to the one behind its last. */
export type Span = readonly [from: number, to: number];

/** A text with layers of escapes undone, which knows where each character comes from. */
export interface Reading {
  readonly text: string;
  /** The span of the original text that became this span here. */
  readonly originOf: (span: Span) => Span;
}

/** An escape of an escape of an escape: nobody reads a text more often than this. */
const MAX_LAYERS = 4;
/**
 * Escapes of JSON, Python, C and shells, of addresses, and of HTML and XML. The first two groups of
 * digits have a capital `U` and eight digits, or four.
 */
const ESCAPE =
  /\\U([0-9a-fA-F]{8})|\\[uU](?:([0-9a-fA-F]{4})|\{([0-9a-fA-F]{1,6})\})|\\[xX]([0-9a-fA-F]{2})|%([0-9a-fA-F]{2})|&#[xX]([0-9a-fA-F]{1,8});|&#(\d{1,8});|&(amp|lt|gt|quot|apos);|\\([0-3][0-7]{2})|\\(["'\\/])/g;
const NAMES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/**
 * The text as it is, and as programs read it that undo its escapes, once and again. All kinds of
 * escapes are undone at the same time, so that a mixture of them is read too. Takes linear time.
 */
export function readings(text: string): readonly Reading[] {
  const found: Reading[] = [{ text, originOf: (span) => span }];
  for (let last = found[0]; last !== undefined && found.length <= MAX_LAYERS; ) {
    const next = oneLayerLess(last);
    if (next !== null) found.push(next);
    last = next ?? undefined;
  }
  return found;
}

/** The text with all its escapes undone. */
export function unescaped(text: string): string {
  return readings(text).at(-1)?.text ?? text;
}

/** Null when the text has no escape. */
function oneLayerLess({ text, originOf }: Reading): Reading | null {
  if (text.search(ESCAPE) < 0) return null;
  /** For each character of the new text the start of its source; at the end the length. */
  const starts: number[] = [];
  let clean = '';
  let end = 0;
  const keep = (to: number): void => {
    clean += text.slice(end, to);
    for (let at = end; at < to; at++) starts.push(at);
  };
  for (const match of text.matchAll(ESCAPE)) {
    keep(match.index);
    const char = charOf(match);
    clean += char;
    for (let unit = 0; unit < char.length; unit++) starts.push(match.index);
    end = match.index + match[0].length;
  }
  keep(text.length);
  starts.push(text.length);
  return { text: clean, originOf: ([from, to]) => originOf([starts[from] ?? 0, starts[to] ?? text.length]) };
}

function charOf([whole, long, four, braced, byte, percent, hex, decimal, name, octal, plain]: readonly (string | undefined)[]): string {
  if (plain !== undefined) return plain;
  if (name !== undefined) return NAMES[name] ?? '';
  const digits = long ?? four ?? braced ?? byte ?? percent ?? hex;
  const code = digits !== undefined ? Number.parseInt(digits, 16) : octal !== undefined ? Number.parseInt(octal, 8) : Number(decimal);
  return code <= 0x10ffff ? String.fromCodePoint(code) : (whole ?? '');
}
