/**
 * The value below which the standard normal distribution has the probability `p` (0 < p < 1);
 * absolute error below 1e-8 after one refinement.
 */
export function normalQuantile(p: number): number {
  let [low, high] = [-9, 9];
  // The distribution function is monotone: halving finds it to the last digits.
  while (high - low > 1e-9) {
    const middle = (low + high) / 2;
    if (normalProbability(middle) < p) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/**
 * Student's t quantile by the expansion of Cornish and Fisher; exact for one and two degrees,
 * within 1 % from three on for 0.9 ≤ p ≤ 0.995.
 */
export function studentQuantile(p: number, degrees: number): number {
  if (degrees === 1) return Math.tan(Math.PI * (p - 0.5));
  if (degrees === 2) return (2 * p - 1) / Math.sqrt(2 * p * (1 - p));
  const z = normalQuantile(p);
  const terms = [
    (z ** 3 + z) / 4,
    (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96,
    (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384,
    (79 * z ** 9 + 776 * z ** 7 + 1482 * z ** 5 - 1920 * z ** 3 - 945 * z) / 92_160,
  ];
  return terms.reduce((sum, term, index) => sum + term / degrees ** (index + 1), z);
}

/**
 * The success rate that this many successes in this many tries prove at 95 %. At any lower rate, so
 * many successes would appear in fewer than one of twenty series (Clopper and Pearson, one-sided).
 * Without tries it is 0.
 */
export function provenRate(successes: number, tries: number): number {
  if (tries <= 0 || successes <= 0) return 0;
  let [low, high] = [0, 1];
  while (high - low > 1e-9) {
    const middle = (low + high) / 2;
    if (atLeast(successes, tries, middle) < 0.05) low = middle;
    else high = middle;
  }
  return low;
}

/**
 * Probability of at least `successes` in `tries` at the rate; terms as logarithms, which do not
 * overflow.
 */
function atLeast(successes: number, tries: number, rate: number): number {
  if (rate <= 0) return 0;
  if (rate >= 1) return 1;
  let choose = 0;
  let sum = 0;
  for (let count = 0; count <= tries; count++) {
    if (count > 0) choose += Math.log((tries - count + 1) / count);
    if (count >= successes) sum += Math.exp(choose + count * Math.log(rate) + (tries - count) * Math.log1p(-rate));
  }
  return sum;
}

/**
 * The normal distribution function, by its continued fraction in the tail and its series near zero.
 */
function normalProbability(x: number): number {
  const tail = upperTail(Math.abs(x));
  return x > 0 ? 1 - tail : tail;
}

function upperTail(x: number): number {
  const density = Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);
  if (x < 3) {
    let [term, sum] = [x, x];
    for (let n = 1; n < 60; n++) {
      term *= (x * x) / (2 * n + 1);
      sum += term;
    }
    return 0.5 - density * sum;
  }
  let fraction = 0;
  for (let n = 60; n >= 1; n--) fraction = n / (x + fraction);
  return density / (x + fraction);
}
