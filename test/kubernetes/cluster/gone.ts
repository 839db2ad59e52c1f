/**
 * Other processes end processes and remove cgroups at any moment: ESRCH and ENOENT then only mean
 * that the work is done.
 */
export function unlessGone<Value>(work: () => Value): Value | null {
  try {
    return work();
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'ESRCH' || code === 'ENOENT') return null;
    throw thrown;
  }
}
