import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mergeVariants } from './merge-variants.ts';

/** What Helm makes of the lines where the condition holds, or does not. */
function resolved(lines: readonly string[], holds: boolean): readonly string[] {
  let isShown = true;
  return lines.filter((line) => {
    if (!line.startsWith('{{- ')) return isShown;
    if (line === '{{- end }}') isShown = true;
    else if (line === '{{- else }}') isShown = !isShown;
    else isShown = line.startsWith('{{- if not ') ? !holds : holds;
    return false;
  });
}

describe('the merged text of two variants', () => {
  it('has common lines once', () => {
    expect(mergeVariants('.x', ['a', 'b', 'c'], ['a', 'd', 'c'])).toEqual([
      'a',
      '{{- if .x }}',
      'b',
      '{{- else }}',
      'd',
      '{{- end }}',
      'c',
    ]);
    expect(mergeVariants('.x', ['a'], ['a', 'b'])).toEqual(['a', '{{- if not .x }}', 'b', '{{- end }}']);
  });

  it('gives back each variant', () => {
    const lines = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 12 });
    fc.assert(
      fc.property(lines, lines, (yes, no) => {
        const merged = mergeVariants('.x', yes, no);
        expect(resolved(merged, true)).toEqual(yes);
        expect(resolved(merged, false)).toEqual(no);
      }),
    );
  });
});
