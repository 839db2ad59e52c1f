/**
 * The principal branch of Lambert's W for −1/e ≤ x ≤ 0: the w ≥ −1 with w·eʷ = x. Halley's
 * iteration from the series at the branch point −1/e or from x itself; a few rounds reach the last
 * digit.
 */
export function lambertW0(x: number): number {
  if (!(x >= -1 / Math.E - 1e-15) || x > 0) throw new RangeError(`W0 is computed for −1/e ≤ x ≤ 0, not for ${x}`);
  if (x === 0) return 0;
  const q = Math.sqrt(Math.max(0, 2 * (Math.E * x + 1)));
  if (q < 1e-7) return -1 + q;
  let w = x < -0.25 ? -1 + q - (q * q) / 3 + (11 * q ** 3) / 72 : x * (1 - x);
  for (let round = 0; round < 50; round++) {
    const e = Math.exp(w);
    const f = w * e - x;
    const step = f / (e * (w + 1) - ((w + 2) * f) / (2 * w + 2));
    w -= step;
    if (Math.abs(step) <= 1e-14 * (1 + Math.abs(w))) break;
  }
  return w;
}
