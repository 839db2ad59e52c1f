import type { ApiObject } from '../api/api-object.ts';
import type { Page } from '../api/kube-api.ts';
import { type Resource, apiVersionOf } from '../api/resource.ts';
import { at, fieldsOf, isFields, listAt, textAt } from '../objects/fields.ts';

/** The value of a text of JSON; undefined if it is none. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/**
 * The object of a kind, without its managed fields, which are most of its bytes; null if the value
 * has no identity.
 */
export function decodeObject(resource: Resource, value: unknown): ApiObject | null {
  const metadata = at(value, 'metadata');
  if (!isFields(metadata)) return null;
  const isWhole = ['name', 'uid', 'resourceVersion', 'creationTimestamp'].every((name) => textAt(metadata, name) !== null);
  if (!isWhole) return null;
  const { managedFields: _managedFields, ...kept } = metadata;
  // The entries of a list do not repeat their kind.
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, ...fieldsOf(value), metadata: kept } as unknown as ApiObject;
}

/** A page of a list; null if the value is none. */
export function decodePage(resource: Resource, value: unknown): Page | null {
  const resourceVersion = textAt(value, 'metadata', 'resourceVersion');
  if (resourceVersion === null) return null;
  const items = listAt(value, 'items').flatMap((item) => decodeObject(resource, item) ?? []);
  return { items, resourceVersion, continueAt: textAt(value, 'metadata', 'continue') };
}
