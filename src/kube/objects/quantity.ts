const FACTORS: ReadonlyMap<string, number> = new Map([
  ['n', 1e-9],
  ['u', 1e-6],
  ['m', 1e-3],
  ['', 1],
  ['k', 1e3],
  ['M', 1e6],
  ['G', 1e9],
  ['T', 1e12],
  ['P', 1e15],
  ['E', 1e18],
  ['Ki', 2 ** 10],
  ['Mi', 2 ** 20],
  ['Gi', 2 ** 30],
  ['Ti', 2 ** 40],
  ['Pi', 2 ** 50],
  ['Ei', 2 ** 60],
]);

/** A Kubernetes quantity (`500m`, `16Gi`, `1e3`, `2`) as a number; null if it is not one. */
export function parseQuantity(value: unknown): number | null {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (typeof value !== 'string' || value.length > 40) return null;
  const match = /^([+-]?\d+(?:\.\d*)?|[+-]?\.\d+)(?:[eE]([+-]?\d{1,3})|([a-zA-Z]{0,2}))$/.exec(value);
  const factor = FACTORS.get(match?.[3] ?? '');
  if (match === null || factor === undefined) return null;
  const number = Number(match[1]) * 10 ** Number(match[2] ?? 0) * factor;
  return Number.isFinite(number) ? number : null;
}
