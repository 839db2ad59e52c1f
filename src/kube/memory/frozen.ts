/** A copy that no code can change: JSON values only. Fields that are undefined are left out. */
export function deepFrozen<T>(value: T): T {
  return frozen(value) as T;
}

function frozen(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  // What is frozen came from here, so its parts are frozen, too.
  if (Object.isFrozen(value)) return value;
  if (Array.isArray(value)) return Object.freeze(value.map(frozen));
  return Object.freeze(
    Object.fromEntries(
      Object.entries(value)
        .filter(([, field]) => field !== undefined)
        .map(([name, field]) => [name, frozen(field)]),
    ),
  );
}
