/** The checksum that all ranks printed at the end of a run, or the reason why there is none. */
export function weightsIn(stdout: string, world: number): { readonly weights: string } | { readonly fault: string } {
  const told = stdout.split('\n').flatMap((line) => {
    const [word, rank, weights = ''] = line.split(' ');
    return word === 'finished' ? [{ rank: Number(rank), weights }] : [];
  });
  const missing = Array.from({ length: world }, (_, rank) => rank).filter((rank) => !told.some((one) => one.rank === rank));
  if (missing.length > 0) return { fault: `rank ${missing.join(', ')} of ${world} did not say that it is finished` };
  const [weights = '', ...others] = new Set(told.map((one) => one.weights));
  if (others.length > 0) return { fault: `the ranks ended with different weights: ${[weights, ...others].join(', ')}` };
  return /^[0-9a-f]{64}$/.test(weights) ? { weights } : { fault: `${JSON.stringify(weights)} are no weights` };
}
