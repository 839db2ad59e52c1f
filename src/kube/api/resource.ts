/** A kind of object, and the path of its API. */
export interface Resource {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly isNamespaced: boolean;
}

/** `v1` or `batch/v1`: the apiVersion of its objects. */
export function apiVersionOf({ group, version }: Resource): string {
  return group === '' ? version : `${group}/${version}`;
}

/** `pods` or `pytorchjobs.kubeflow.org`: the name for people, and of a CustomResourceDefinition. */
export function resourceName({ group, plural }: Resource): string {
  return group === '' ? plural : `${plural}.${group}`;
}
