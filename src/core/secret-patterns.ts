import type { Span } from './unescaped.ts';

/** Finds the spans of a text that hold a secret. */
export type Find = (text: string) => readonly Span[];

/** A run of characters as in keys and tokens. */
const LONG_TOKEN = /[A-Za-z0-9+/_=-]{40,}/g;
/** A field whose value is a secret, in a query, a header or JSON. */
const NAMED =
  /((?:x-amz-security-token|x-amz-signature|x-goog-signature|authorization|access_token|refresh_token|client_secret|session_?token|password|secret_?access_?key)["']?\s*[:=]\s*["']?(?:(?:bearer|basic)\s+)?)[^\s"'&,;<>]+/gi;
const BEARER = /(\b(?:bearer|basic)\s+)[A-Za-z0-9+/_.=~-]{8,}/gi;
/** The last words of names whose values are secrets. */
const SECRET_NAME =
  /(?:(?:^|[-_.])(?:tokens?|pass|pwd|pat|jwt|auth|authorization|sig|signature|credentials?|(?:access|private|secret|auth|account|encryption|license|wandb)[-_.]?keys?)|secrets?|passwords?|passwd|passphrase|api[-_.]?keys?)$/i;
/** Values that say by their form that they are secrets. */
const SECRET_VALUE =
  /\b(?:hf_[A-Za-z0-9]{20,}|sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abprs]-[\w-]{10,}|AIza[\w-]{30,}|ya29\.[\w-]{20,}|(?<!-)eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)/g;
/** A block of a private key, also where its line breaks were lost. */
const PRIVATE_KEY = /-----BEGIN [A-Z ]*PRIVATE KEY-----[^]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g;
/** The beginning of an address with a user and a password. */
const WITH_USER = /[a-z0-9+.-]:\/\/(?=[^/@:]*:)/i;
const ASSIGNMENT = /(?:^|[\s"';&|(?])((?:--?)?[A-Za-z_][\w.-]*)(\s*=\s*|\s+(?=[^-\s]))("[^"]*"|'[^']*'|[^\s"';&|)]+)/g;

/** A name and what stands between it and its value, in a query, a header, JSON or YAML. */
const FIELD = /(?<![\w.-])([\w.-]+)\\?["']?\s*[:=]\s*/g;
const FIELD_VALUE = /((?:bearer|basic)\s+)?(\\?"[^"]*"|'[^']*'|[^\s"'&;|)<>,}]+)/iy;

/** What looks like a secret in a text from outside. */
export const OUTSIDE_FINDS: readonly Find[] = [findUsers, matches(NAMED), matches(BEARER), matches(LONG_TOKEN, isTokenLike)];

/** What is a secret in an argument: values under such a name, or with the form of a known key. */
export const ARGUMENT_FINDS: readonly Find[] = [findUsers, matches(PRIVATE_KEY), matches(SECRET_VALUE), findAssigned, findFields];

/** Whether a value under this name (of an option, a variable, a field) is a secret. */
export function isSecretName(name: string): boolean {
  const plain = name.replace(/^-+/, '').replace(/([a-z0-9])([A-Z])/g, '$1-$2');
  return SECRET_NAME.test(plain);
}

/**
 * Numbers and markers such as `<pad>` are values of options like `--max-tokens` and `--pad-token`.
 */
export function isHarmless(value: string): boolean {
  return /^(?:\d[\d.]*|<[^>]*>|\[[A-Z]+\]|true|false|none|null|auto)$/i.test(value);
}

/** Finds what the pattern matches, apart from the part in its first group. */
function matches(pattern: RegExp, isSecret: (value: string) => boolean = () => true): Find {
  return (text) =>
    [...text.matchAll(pattern)]
      .map(({ 0: whole, 1: before = '', index }): Span => [index + before.length, index + whole.length])
      .filter(([from, to]) => isSecret(text.slice(from, to)));
}

/**
 * Finds users and passwords in addresses: up to the last `@`, since a password may hold one, and a
 * slash where nobody has escaped it.
 */
export function findUsers(text: string): Span[] {
  return [...text.matchAll(/[^\s"']+/g)].flatMap(({ 0: run, index }) => {
    const address = run.slice(0, Math.max(0, run.lastIndexOf('@')));
    const begin = WITH_USER.exec(address);
    return begin === null ? [] : [[index + begin.index + begin[0].length, index + address.length] as const];
  });
}

/**
 * Paths and hexadecimal digests are long too; a token mixes capitals, small letters and digits
 * within one piece.
 */
function isTokenLike(run: string): boolean {
  return run.split(/[/_-]/).some((piece) => piece.length >= 20 && /[A-Z]/.test(piece) && /[a-z]/.test(piece) && /\d/.test(piece));
}

function findAssigned(text: string): Span[] {
  const found: Span[] = [];
  for (const { 0: whole, 1: name = '', 2: between = '', 3: value = '', index } of text.matchAll(ASSIGNMENT)) {
    const isAssigned = between.includes('=') || name.startsWith('-');
    const end = index + whole.length;
    if (isAssigned && isSecretName(name) && !isHarmless(value)) found.push([end - value.length, end]);
  }
  return found;
}

/** A field may stand within the value of another: `--header=Authorization: Bearer x`. */
function findFields(text: string): Span[] {
  const found: Span[] = [];
  for (const { 0: field, 1: name = '', index } of text.matchAll(FIELD)) {
    const from = index + field.length;
    if (index < (found.at(-1)?.[1] ?? 0) || !isSecretName(name)) continue;
    FIELD_VALUE.lastIndex = from;
    const [whole, scheme = '', value = ''] = FIELD_VALUE.exec(text) ?? [];
    if (whole !== undefined && !isHarmless(value)) found.push([from + scheme.length, from + whole.length]);
  }
  return found;
}
