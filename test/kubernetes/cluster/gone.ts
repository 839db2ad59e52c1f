/** Processes end and cgroups are removed by others at any moment: ESRCH and ENOENT then say only that it is done. */
export function unlessGone<Value>(work: () => Value): Value | null {
  try {
    return work();
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'ESRCH' || code === 'ENOENT') return null;
    throw thrown;
  }
}
