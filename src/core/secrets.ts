import { ARGUMENT_FINDS, type Find, findUsers, isHarmless, isSecretName, OUTSIDE_FINDS } from './secret-patterns.ts';
import { type Reading, readings, type Span, unescaped } from './unescaped.ts';

/** What stands in the place of a secret. */
const MASK = '[redacted]';

/** Shorter texts are not masked wherever they occur: too many harmless words contain them. */
const SHORTEST_SECRET = 8;
/** The same for a form of a secret with fewer characters: without its own escapes. */
const SHORTEST_FORM = 4;
/** A text from outside is cut here. Nobody is shown as much. */
const LONGEST_TEXT = 64 * 1024;
/** As many characters beside a part of base64 may belong to the same bytes, with the padding. */
const MOST_NEIGHBOURS = 3;

/** Masks secrets in texts from outside: those that it was told, and whatever looks like one. */
export class Redactor {
  readonly #secrets = new Set<string>();
  /** In base64, where a secret may be a part of what is encoded. */
  readonly #encoded = new Set<string>();

  /**
   * From now on this text is masked wherever it occurs, also escaped as in an address, in JSON or
   * in HTML, and in base64 or hexadecimal.
   */
  know(secret: string | null | undefined): void {
    const text = secret?.trim() ?? '';
    if (text.length < SHORTEST_SECRET) return;
    const bytes = Buffer.from(text);
    const forms = [text, unescaped(text), bytes.toString('latin1'), text.replaceAll(' ', '+'), bytes.toString('hex')];
    for (const form of [...forms, bytes.toString('hex').toUpperCase()]) if (form.length >= SHORTEST_FORM) this.#secrets.add(form);
    for (const form of base64Forms(bytes)) this.#encoded.add(form);
  }

  /** Finds the secrets that were told. */
  readonly #known: Find = (text) => [
    ...[...this.#secrets].flatMap((secret) => occurrences(text, secret)),
    ...[...this.#encoded].flatMap((form) => occurrences(text, form).map((span) => wholeRun(text, span))),
  ];

  /** The arguments of a command are ours, so only what is certain is masked there. */
  maskArgument(argument: string): string {
    return masked(argument, [this.#known, ...ARGUMENT_FINDS]);
  }

  /** The text without secrets, also without what only looks like one. A very long text is cut. */
  redact(text: string): string {
    return masked(text.slice(0, LONGEST_TEXT), [this.#known, ...OUTSIDE_FINDS]);
  }
}

/** The text without the users and passwords in its addresses. */
export function withoutUsers(text: string): string {
  return text.includes('@') ? withMasks(text, findUsers(text)) : text;
}

/** The same for a text that should be one address, and may lack its scheme. */
export function withoutUser(address: string): string {
  return address.replace(/^([a-z][a-z0-9+.-]*:\/\/)?[^]*@/i, `$1${MASK}@`);
}

/**
 * The arguments of a command with secrets masked: values of options and variables whose names say
 * so, values that look like a known kind of key, users in addresses, and whatever an environment
 * variable with such a name holds.
 */
export function maskArguments(command: readonly string[], env: Readonly<Record<string, string | undefined>> = {}): readonly string[] {
  const known = new Redactor();
  for (const [name, value] of Object.entries(env)) if (isSecretName(name) && value !== undefined && !isPath(value)) known.know(value);
  return command.map((argument, index) => {
    const before = command[index - 1];
    if (
      before?.startsWith('-') === true &&
      !before.includes('=') &&
      isSecretName(before) &&
      !isHarmless(argument) &&
      !argument.startsWith('-')
    )
      return MASK;
    return known.maskArgument(argument);
  });
}

/** `AWS_WEB_IDENTITY_TOKEN` may hold a secret, and others the file that one lies in. */
function isPath(value: string): boolean {
  return value.startsWith('/') || value.startsWith('./') || value.startsWith('~');
}

/**
 * The text with a mask for each secret, however its characters are escaped: the text is searched as
 * it is, and with its escapes undone.
 */
function masked(text: string, finds: readonly Find[]): string {
  return withMasks(
    text,
    readings(text).flatMap((reading) => spansIn(reading, finds)),
  );
}

function spansIn({ text, originOf }: Reading, finds: readonly Find[]): Span[] {
  return finds.flatMap((find) => find(text).map(originOf));
}

/** Spans that overlap get one mask. */
function withMasks(text: string, spans: readonly Span[]): string {
  let clean = '';
  let end = 0;
  for (const [from, to] of spans.toSorted(([a], [b]) => a - b)) {
    if (from >= end) clean += text.slice(end, from) + MASK;
    end = Math.max(end, to);
  }
  return clean + text.slice(end);
}

function occurrences(text: string, secret: string): Span[] {
  const found: Span[] = [];
  for (let at = text.indexOf(secret); at >= 0; at = text.indexOf(secret, at + secret.length)) found.push([at, at + secret.length]);
  return found;
}

/**
 * The characters of base64 that follow from these bytes alone, whatever stands before and behind
 * them, in both alphabets.
 */
function base64Forms(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    const form = encoded.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
    return [form, form.replaceAll('+', '-').replaceAll('/', '_')];
  });
}

/** A part of base64 with its neighbours, which may hold some bits of the same secret. */
function wholeRun(text: string, [from, to]: Span): Span {
  const isPart = (at: number): boolean => /[\w+/=-]/.test(text.charAt(at));
  let [start, end] = [from, to];
  while (start > 0 && from - start < MOST_NEIGHBOURS && isPart(start - 1)) start--;
  while (end < text.length && end - to < MOST_NEIGHBOURS && isPart(end)) end++;
  return [start, end];
}
