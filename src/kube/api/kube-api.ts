import type { ApiObject, NewObject, ObjectKey } from './api-object.ts';
import type { Outcome } from './outcome.ts';
import type { Resource } from './resource.ts';

/** How a request can end early: it then rejects with the reason of the signal. */
export interface RequestOptions {
  readonly signal: AbortSignal;
}

/** The objects that a list or a watch is about. */
export interface Selection {
  /** Null: all namespaces, or a kind without namespaces. */
  readonly namespace: string | null;
  /** In the words of the API: `a=b,c in (d,e),!f`. Empty: all. */
  readonly labelSelector?: string;
  /** In the words of the API: `spec.nodeName=n1`. Empty: all. */
  readonly fieldSelector?: string;
}

/** A page of a list. */
export interface PageQuery extends Selection {
  readonly limit: number;
  /** The token of the page before; null: the first page. */
  readonly continueAt: string | null;
}

/** Some of the objects. */
export interface Page {
  readonly items: readonly ApiObject[];
  /** The version of the whole list, from which a watch continues. */
  readonly resourceVersion: string;
  /** The token of the next page; null: this is the last. */
  readonly continueAt: string | null;
}

/** A watch to open. */
export interface WatchQuery extends Selection {
  /** The watch reports what comes after this version. */
  readonly resourceVersion: string;
  /** The API server ends the watch after this time. */
  readonly timeoutSeconds: number;
}

/** A change, or a bookmark, whose object has nothing but a resource version. */
export type WatchEvent =
  | { readonly type: 'added' | 'modified' | 'deleted'; readonly object: ApiObject }
  | { readonly type: 'bookmark'; readonly resourceVersion: string };

/** Options of a write. */
export interface WriteOptions extends RequestOptions {
  /** Writes the status alone; absent: all but the status. */
  readonly subresource?: 'status';
}

/** Options of a deletion. */
export interface DeleteOptions extends RequestOptions {
  /** The grace of a pod; absent: its own. Zero removes it at once, without its kubelet. */
  readonly graceSeconds?: number;
  /** Deletes only the object with this uid; else the outcome is `conflict`. */
  readonly uid?: string;
  /** Deletes only this version of the object; else the outcome is `conflict`. */
  readonly resourceVersion?: string;
  /** What becomes of the objects that it owns; absent: the default of the kind. */
  readonly propagation?: 'Background' | 'Foreground' | 'Orphan';
}

/** Options of an eviction. */
export interface EvictOptions extends RequestOptions {
  /** Evicts only the pod with this uid; else the outcome is `conflict`. */
  readonly uid: string;
  /** Asks whether the eviction would be allowed, and evicts nothing. */
  readonly isDryRun: boolean;
}

/** The part of a pod's log to read. */
export interface LogOptions extends RequestOptions {
  readonly container: string;
  readonly lines: number;
  readonly mostBytes: number;
}

/** A request to a port of a pod, through the API server. */
export interface ProxyOptions extends RequestOptions {
  readonly port: number;
  /** Begins with `/`. */
  readonly path: string;
  readonly mostBytes: number;
}

/**
 * The API of Kubernetes, as far as a controller needs it. An expected refusal is an outcome; a
 * method rejects only with the reason of its signal, or for a fault of the caller.
 */
export interface KubeApi {
  get(resource: Resource, key: ObjectKey, options: RequestOptions): Promise<Outcome<ApiObject>>;
  list(resource: Resource, query: PageQuery, options: RequestOptions): Promise<Outcome<Page>>;
  /**
   * Calls `hear` with every event, in their order, until the watch ends. The outcome is a success
   * if the API server ended it in time, `gone` if the version is too old.
   */
  watch(resource: Resource, query: WatchQuery, hear: (event: WatchEvent) => void, options: RequestOptions): Promise<Outcome<null>>;
  /** Creates the object in the namespace of its metadata. */
  create(resource: Resource, object: NewObject, options: RequestOptions): Promise<Outcome<ApiObject>>;
  /** Replaces the object; `conflict` if its resource version is not the stored one. */
  replace(resource: Resource, object: ApiObject, options: WriteOptions): Promise<Outcome<ApiObject>>;
  /**
   * Merges the fields (JSON Merge Patch: null deletes a field, a list is replaced). With a
   * `metadata.resourceVersion` in it, the outcome is `conflict` where the object has another.
   */
  patch(resource: Resource, key: ObjectKey, fields: Readonly<Record<string, unknown>>, options: WriteOptions): Promise<Outcome<ApiObject>>;
  /** Deletes, or begins to: a grace or a finalizer may keep the object for a while. */
  delete(resource: Resource, key: ObjectKey, options: DeleteOptions): Promise<Outcome<null>>;
  /**
   * Deletes a pod with its own grace if every PodDisruptionBudget allows it; `tooManyRequests` if
   * one does not.
   */
  evict(pod: ObjectKey, options: EvictOptions): Promise<Outcome<null>>;
  /** The last lines of a container's log. */
  logTail(pod: ObjectKey, options: LogOptions): Promise<Outcome<string>>;
  /** The body of the answer of a pod to GET. */
  proxyGet(pod: ObjectKey, options: ProxyOptions): Promise<Outcome<string>>;
}
