import fc from 'fast-check';

/**
 * Texts with control characters, characters that JSON escapes, wide characters and lone surrogates.
 */
export function awkwardText(constraints: { readonly maxLength?: number } = {}): fc.Arbitrary<string> {
  const unit = fc.constantFrom('\u0000', '\u001b', '\u009b', '\n', '\u202e', '\ud800', '"', '\\', 'a', '漢', '😀');
  return fc.string({ unit, ...constraints });
}
