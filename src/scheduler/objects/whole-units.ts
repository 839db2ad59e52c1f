const EXPONENTS: ReadonlyMap<string, readonly [base: bigint, power: number]> = new Map([
  ['n', [10n, -9]],
  ['u', [10n, -6]],
  ['m', [10n, -3]],
  ['', [10n, 0]],
  ['k', [10n, 3]],
  ['M', [10n, 6]],
  ['G', [10n, 9]],
  ['T', [10n, 12]],
  ['P', [10n, 15]],
  ['E', [10n, 18]],
  ['Ki', [2n, 10]],
  ['Mi', [2n, 20]],
  ['Gi', [2n, 30]],
  ['Ti', [2n, 40]],
  ['Pi', [2n, 50]],
  ['Ei', [2n, 60]],
]);
const LONGEST = 40;
/** Kubernetes caps larger amounts at this. */
const MOST = 2 ** 63;
const SIMPLE = /^(\d{1,9})(m|Ki|Mi|Gi)?$/;
const SIMPLE_FACTORS = { '': 1, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30 } as const;

/** The unit in which the scheduler counts a resource: thousandths of a processor, else one. */
export type Scale = 1 | 1000;

/**
 * A Kubernetes quantity in whole units, rounded up without a rounding error before that, as the
 * scheduler does it; null if the value is not a quantity.
 */
export function wholeUnits(value: unknown, scale: Scale): number | null {
  if (typeof value === 'number') return wholeUnits(String(value), scale);
  if (typeof value !== 'string' || value.length > LONGEST) return null;
  return simpleUnits(value, scale) ?? exactUnits(value, scale);
}

/** Nearly all quantities of a cluster are short, and need no large numbers. */
function simpleUnits(value: string, scale: Scale): number | null {
  const match = SIMPLE.exec(value);
  if (match === null) return null;
  const [number, suffix] = [Number(match[1]), match[2] ?? ''];
  if (suffix === 'm') return scale === 1000 ? number : Math.ceil(number / 1000);
  return number * SIMPLE_FACTORS[suffix as keyof typeof SIMPLE_FACTORS] * scale;
}

function exactUnits(value: string, scale: Scale): number | null {
  const match = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3})|([a-zA-Z]{0,2}))$/.exec(value);
  if (match === null) return null;
  const [, sign, whole = '', fraction = '', exponent, suffix = ''] = match;
  const unit = EXPONENTS.get(suffix);
  if (unit === undefined || whole + fraction === '') return null;
  const [base, power] = exponent === undefined ? unit : ([10n, Number(exponent)] as const);
  let [top, bottom] = [BigInt(whole + fraction) * BigInt(scale), 10n ** BigInt(fraction.length)];
  if (power < 0) bottom *= base ** BigInt(-power);
  else top *= base ** BigInt(power);
  // Rounded up: away from zero for what is asked, and a negative amount is none at all.
  return sign === '-' ? Math.max(-MOST, -Number(top / bottom)) : Math.min(MOST, Number((top + bottom - 1n) / bottom));
}
