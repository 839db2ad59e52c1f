import type { ObjectKey } from '../api/api-object.ts';
import type { Selection } from '../api/kube-api.ts';
import type { Resource } from '../api/resource.ts';

/** The path of a kind, or of its objects in one namespace. */
export function listPath({ group, version, plural, isNamespaced }: Resource, namespace: string | null): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  return `${root}${isNamespaced && namespace !== null ? `/namespaces/${encodeURIComponent(namespace)}` : ''}/${plural}`;
}

/** The path of an object, or of a subresource of it. */
export function objectPath(resource: Resource, { namespace, name }: ObjectKey, subresource?: string): string {
  return `${listPath(resource, namespace)}/${encodeURIComponent(name)}${subresource === undefined ? '' : `/${subresource}`}`;
}

/** The query of a list or a watch. */
export function selectionQuery({ labelSelector = '', fieldSelector = '' }: Selection): URLSearchParams {
  const query = new URLSearchParams();
  if (labelSelector !== '') query.set('labelSelector', labelSelector);
  if (fieldSelector !== '') query.set('fieldSelector', fieldSelector);
  return query;
}
