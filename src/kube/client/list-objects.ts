import { HoldfastError } from '../../core/errors.ts';
import { excerpt } from '../../core/printable.ts';
import { at, fieldsOf, textAt } from '../objects/fields.ts';
import { type KubeObject, objectOf } from '../objects/object.ts';
import type { Connection } from './connection.ts';

/** A kind to list, and the path of its list. */
export interface ListedKind {
  readonly kind: string;
  /** `api/v1`, or `apis/batch/v1`. */
  readonly group: string;
  readonly plural: string;
  readonly isNamespaced: boolean;
}

/** How a list ended. A kind is not installed where the API server does not know its path. */
export type Listed = { readonly outcome: 'listed' | 'not-installed' } | { readonly outcome: 'forbidden'; readonly message: string };

/** Which objects of a kind, and what to do with each page of them. */
export interface Listing {
  /** Null: all namespaces. */
  readonly namespace: string | null;
  readonly fieldSelector?: string;
  /** Receives one page at a time; returns false to read no further page. */
  readonly onPage: (objects: readonly KubeObject[]) => boolean;
}

const PAGE = 500;

/** Lists the objects of a kind, page by page, so that memory stays bounded by one page. */
export async function listObjects(connection: Connection, kind: ListedKind, listing: Listing): Promise<Listed> {
  let next: string | null = null;
  do {
    const { status, body } = await connection.get(pathOf(kind, listing, next));
    if (status === 401) throw refused(body);
    if (status === 403) return { outcome: 'forbidden', message: messageIn(body) };
    // The kind is not installed, or the API server is too old for it.
    if (status === 404) return { outcome: 'not-installed' };
    if (status !== 200) {
      throw new HoldfastError('CLUSTER_UNREACHABLE', {
        message: `the API server answered ${status} for ${kind.plural}: ${excerpt(messageIn(body), 200)}`,
      });
    }
    const list = parsed(body);
    const items = at(list, 'items');
    // The entries of a list do not repeat their kind and version.
    const told = { kind: kind.kind, apiVersion: kind.group.replace(/^apis?\//, '') };
    const page = (Array.isArray(items) ? items : []).flatMap((item) => objectOf({ ...told, ...fieldsOf(item) }) ?? []);
    if (!listing.onPage(page)) break;
    next = textAt(list, 'metadata', 'continue');
  } while (next !== null);
  return { outcome: 'listed' };
}

function pathOf({ group, plural, isNamespaced }: ListedKind, { namespace, fieldSelector = '' }: Listing, next: string | null): string {
  const place = isNamespaced && namespace !== null ? `/namespaces/${encodeURIComponent(namespace)}` : '';
  const query = new URLSearchParams({ limit: String(PAGE) });
  if (next !== null) query.set('continue', next);
  if (fieldSelector !== '') query.set('fieldSelector', fieldSelector);
  return `/${group}${place}/${plural}?${query.toString()}`;
}

function refused(body: string): HoldfastError {
  return new HoldfastError('KUBECONFIG_NOT_USABLE', {
    message: `the API server does not accept the credentials: ${excerpt(messageIn(body), 200)}`,
    hint: '`kubectl auth whoami` uses the same ones.',
  });
}

function messageIn(body: string): string {
  return textAt(parsed(body), 'message') ?? body.slice(0, 200);
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    return null;
  }
}
