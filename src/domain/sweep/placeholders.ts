/** Replaces `{name}` by the value of that name. Other braces belong to the trainer and stay. */
export function fillPlaceholders(text: string, values: ReadonlyMap<string, string>): string {
  return text.replaceAll(/\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (whole, name: string) => values.get(name) ?? whole);
}
