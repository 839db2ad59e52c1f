import type { LifecycleRule } from '../backends/bucket-settings.ts';

/**
 * The rules that would delete copies below the prefix: rules for the whole bucket, a folder above
 * it, or one below.
 */
export function threatsTo(prefix: string, rules: readonly LifecycleRule[]): readonly LifecycleRule[] {
  const own = prefix === '' ? '' : `${prefix}/`;
  return rules.filter((rule) => own.startsWith(rule.prefix) || rule.prefix.startsWith(own));
}
