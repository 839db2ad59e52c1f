/** The meaning of a user's text, or the rule that it broke (a clause that can follow "because"). */
export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly reason: string };

/** The result for a text that was understood. */
export function parsed<T>(value: T): Parsed<T> {
  return { ok: true, value };
}

/** The result for a text that broke a rule. */
export function refused(reason: string): Parsed<never> {
  return { ok: false, reason };
}
