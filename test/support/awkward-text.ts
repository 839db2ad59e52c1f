import fc from 'fast-check';

/** Texts of characters that terminals obey, that JSON escapes, that take two columns, or that are halves. */
export function awkwardText(constraints: { readonly maxLength?: number } = {}): fc.Arbitrary<string> {
  const unit = fc.constantFrom('\u0000', '\u001b', '\u009b', '\n', '\u202e', '\ud800', '"', '\\', 'a', '漢', '😀');
  return fc.string({ unit, ...constraints });
}
