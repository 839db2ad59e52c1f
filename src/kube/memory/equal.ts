/** Whether two JSON values are the same, whatever the order of their keys. */
export function isEqualJson(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one)) return Array.isArray(other) && one.length === other.length && one.every((item, i) => isEqualJson(item, other[i]));
  if (Array.isArray(other)) return false;
  const [left, right] = [Object.entries(one), other as Readonly<Record<string, unknown>>];
  return left.length === Object.keys(right).length && left.every(([name, value]) => name in right && isEqualJson(value, right[name]));
}
