/** What became of text a person wrote: its meaning, or the rule it broke (a clause that can follow "because"). */
export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly reason: string };

export function parsed<T>(value: T): Parsed<T> {
  return { ok: true, value };
}

export function refused(reason: string): Parsed<never> {
  return { ok: false, reason };
}
