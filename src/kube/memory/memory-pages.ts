import type { ApiObject } from '../api/api-object.ts';
import type { Page, PageQuery } from '../api/kube-api.ts';
import { type Outcome, succeeded } from '../api/outcome.ts';
import type { Resource } from '../api/resource.ts';
import type { MemoryCluster } from './memory-cluster.ts';
import { refusal } from './refusals.ts';
import type { Predicate } from './selectors.ts';

interface Rest {
  readonly items: readonly ApiObject[];
  readonly version: number;
}

/** Lists in pages: all pages of one list show the same version, until the cluster forgets it. */
export class MemoryPages {
  readonly #cluster: MemoryCluster;
  readonly #rests = new Map<string, Rest>();
  #tokens = 0;

  constructor(cluster: MemoryCluster) {
    this.#cluster = cluster;
  }

  list(resource: Resource, query: PageQuery, selects: Predicate): Outcome<Page> {
    const history = this.#cluster.historyOf(resource);
    if (history === null) return refusal('notFound', `the server has no ${resource.plural}`);
    const rest = query.continueAt === null ? this.#first(resource, query, selects) : this.#rests.get(query.continueAt);
    if (rest === undefined || history.after(rest.version) === 'gone') return refusal('gone', 'the continue token is too old');
    const items = rest.items.slice(0, query.limit);
    const left = rest.items.slice(query.limit);
    const resourceVersion = String(rest.version);
    if (left.length === 0) return succeeded({ items, resourceVersion, continueAt: null });
    this.#tokens += 1;
    const continueAt = `token-${this.#tokens}`;
    this.#rests.set(continueAt, { items: left, version: rest.version });
    return succeeded({ items, resourceVersion, continueAt });
  }

  #first(resource: Resource, { namespace }: PageQuery, selects: Predicate): Rest {
    const items = this.#cluster
      .all(resource)
      .filter((object) => (namespace === null || object.metadata.namespace === namespace) && selects(object));
    return { items, version: this.#cluster.version };
  }
}
