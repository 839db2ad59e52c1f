/** The values that the header of a `.npy` file can contain. */
export type Literal = string | number | boolean | null | readonly Literal[] | Map<string, Literal>;

const DEPTH = 16;
const TOKEN = /\s*(?:([uUbB]?'(?:[^'\\]|\\.)*'|[uUbB]?"(?:[^"\\]|\\.)*")|(-?\d+)[lL]?|(True|False|None)|([[\](){},:]))/y;

const SPACE = /\s*/y;

/**
 * Parses a Python literal of strings, whole numbers, tuples, lists and dictionaries; returns
 * undefined for anything else.
 */
export function parseLiteral(text: string): Literal | undefined {
  try {
    const parser = new LiteralParser(text);
    const value = parser.value(0);
    return parser.isAtEnd() ? value : undefined;
  } catch (thrown) {
    if (thrown instanceof NotALiteral) return undefined;
    throw thrown;
  }
}

class NotALiteral extends Error {}

const CLOSING: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };
const WORDS: Readonly<Record<string, boolean | null>> = { True: true, False: false, None: null };

class LiteralParser {
  readonly #text: string;
  #position = 0;

  constructor(text: string) {
    this.#text = text;
  }

  isAtEnd(): boolean {
    // Stop at the next character that is not white space. This runs before every token, so it must
    // not scan the whole text.
    SPACE.lastIndex = this.#position;
    SPACE.test(this.#text);
    return SPACE.lastIndex === this.#text.length;
  }

  value(depth: number): Literal {
    if (depth > DEPTH) throw new NotALiteral();
    const [, quoted, digits, word, sign] = this.#token();
    if (quoted !== undefined) return quoted.slice(quoted.search(/['"]/) + 1, -1).replace(/\\(.)/g, '$1');
    if (digits !== undefined) return Number(digits);
    if (word !== undefined) return WORDS[word] as boolean | null;
    const closing = CLOSING[sign ?? ''];
    if (closing === undefined) throw new NotALiteral();
    return sign === '{' ? this.#dictionary(depth) : this.#items(closing, depth);
  }

  #token(): RegExpExecArray {
    TOKEN.lastIndex = this.#position;
    const match = TOKEN.exec(this.#text);
    if (match === null) throw new NotALiteral();
    this.#position = TOKEN.lastIndex;
    return match;
  }

  /** Moves past a sign when it is the next token. */
  #accept(sign: string): boolean {
    const before = this.#position;
    if (!this.isAtEnd() && this.#token()[4] === sign) return true;
    this.#position = before;
    return false;
  }

  #items(closing: string, depth: number): readonly Literal[] {
    const items: Literal[] = [];
    while (!this.#accept(closing)) {
      items.push(this.value(depth + 1));
      if (this.#accept(',')) continue;
      if (!this.#accept(closing)) throw new NotALiteral();
      break;
    }
    return items;
  }

  #dictionary(depth: number): Map<string, Literal> {
    const entries = new Map<string, Literal>();
    while (!this.#accept('}')) {
      const key = this.value(depth + 1);
      if (typeof key !== 'string' || !this.#accept(':')) throw new NotALiteral();
      entries.set(key, this.value(depth + 1));
      if (this.#accept(',')) continue;
      if (!this.#accept('}')) throw new NotALiteral();
      break;
    }
    return entries;
  }
}
