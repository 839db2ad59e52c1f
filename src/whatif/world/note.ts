/** Something that a reader must know to judge an answer. */
export interface Note {
  readonly kind: 'assumed' | 'missing' | 'not-modelled' | 'bad-input';
  readonly text: string;
}

const MOST_NAMED = 5;

/** `a, b, c and 12 more`. */
export function someOf(names: readonly string[], most = MOST_NAMED): string {
  if (names.length <= most) return names.join(', ');
  return `${names.slice(0, most).join(', ')} and ${names.length - most} more`;
}
