/** A place where two values differ. */
export interface Difference {
  /** `pods.j-master-0.spec.restartPolicy`. */
  readonly path: string;
  readonly v1: unknown;
  readonly ours: unknown;
}

/** Every place where two values differ; a list that differs in its length is one place. */
export function differences(v1: unknown, ours: unknown, path = ''): readonly Difference[] {
  if (Array.isArray(v1) && Array.isArray(ours) && v1.length === ours.length)
    return v1.flatMap((each, index) => differences(each, ours[index], `${path}[${index}]`));
  if (isObject(v1) && isObject(ours)) {
    const names = [...new Set([...Object.keys(v1), ...Object.keys(ours)])];
    return names.flatMap((name) => differences(v1[name], ours[name], path === '' ? name : `${path}.${name}`));
  }
  return v1 === ours || (v1 === undefined && ours === undefined) ? [] : [{ path, v1, ours }];
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
