import type { Cluster } from '../cluster/cluster.ts';
import { eventually } from '../cluster/wait.ts';
import { type Change, type Fact, Roles, factsOf } from './facts.ts';

const KINDS: readonly (readonly [kind: string, api: string, plural: string])[] = [
  ['Pod', '/api/v1', 'pods'],
  ['Event', '/api/v1', 'events'],
  ['Job', '/apis/batch/v1', 'jobs'],
  ['CronJob', '/apis/batch/v1', 'cronjobs'],
];

/**
 * Events that say what happened to the node. Other events come with every start of a kubelet, some
 * only after it is ready.
 */
const TOLD_OF_NODES = /^(EvictionThresholdMet|NodeHasDiskPressure|NodeHasInsufficientMemory|NodeNotReady|RemovingNode|Shutdown)$/;
/** The most characters to show of a line that cannot be parsed. */
const MOST_TOLD = 500;

interface Watched {
  readonly namespace: string;
  /**
   * The store's revision at the start of the play. Older events of its node belong to another play.
   */
  readonly since: number;
  readonly node?: string | undefined;
}

/** What to watch, and which of its changes belong to this play. */
interface Source {
  readonly kind: string;
  readonly path: string;
  readonly isOwn: (change: Change) => boolean;
}

/** Records every change in a namespace while it is watched. */
export class History {
  readonly roles = new Roles();
  readonly #started = performance.now();
  readonly #seen = new Map<string, Fact>();
  #failure: Error | null = null;

  /** Watches a namespace, and also a node and its events if one is named. */
  static watch({ api }: Pick<Cluster, 'api'>, watched: Watched, signal: AbortSignal): History {
    const history = new History();
    for (const source of sourcesOf(watched)) {
      const hear = (text: string): void => history.#hear(source, text);
      api.watch(`${source.path}watch=1&resourceVersion=0`, hear, signal).catch((thrown: Error) => {
        history.#failure ??= thrown;
      });
    }
    return history;
  }

  /** Adds facts from another source. They have no revision, so they have no place in the order. */
  tell(texts: readonly string[]): void {
    for (const text of texts) this.#add({ text, revision: Number.NaN, seconds: this.seconds });
  }

  /** Seconds since the start of the watch. */
  get seconds(): number {
    return (performance.now() - this.#started) / 1000;
  }

  /** Each fact with the first time it was seen. */
  get facts(): readonly Fact[] {
    return [...this.#seen.values()];
  }

  /** Waits for all of the facts; of an inner list, one is enough. */
  async whenSeen(facts: readonly (string | readonly string[])[], signal?: AbortSignal): Promise<void> {
    const isSeen = (fact: string | readonly string[]): boolean => [fact].flat().some((text) => this.#seen.has(text));
    const missing = (): readonly string[] => facts.filter((fact) => !isSeen(fact)).map((fact) => [fact].flat().join(' or '));
    try {
      await eventually('the facts', () => (missing().length === 0 ? true : null), { signal, hopeless: () => this.#broken() });
    } catch (thrown) {
      const seen = this.facts.map(({ text }) => text).join('\n  ');
      const why = this.#failure === null ? '' : ` (${this.#failure.message})`;
      throw new Error(`not seen: ${missing().join('; ')}${why}; but:\n  ${seen}`, { cause: thrown });
    }
  }

  /** Throws if a watch failed. Even a watch that saw all expected facts may have missed others. */
  mustBeWhole(): void {
    if (this.#failure !== null) throw new Error(`not all was seen: ${this.#failure.message}`, { cause: this.#failure });
  }

  #broken(): string | null {
    return this.#failure === null ? null : this.#failure.message;
  }

  #add(fact: Fact): void {
    if (!this.#seen.has(fact.text)) this.#seen.set(fact.text, fact);
  }

  #hear({ kind, isOwn }: Source, text: string): void {
    const { type, object } = JSON.parse(text) as Pick<Change, 'object'> & { readonly type: string };
    if (type !== 'ADDED' && type !== 'MODIFIED' && type !== 'DELETED') {
      // Later changes may be missing, and a missing change would look like one that never happened.
      this.#failure ??= new Error(`the watch of ${kind}s tells no change, but ${type}: ${text.slice(0, MOST_TOLD)}`);
      return;
    }
    const revision = Number((object.metadata as { readonly resourceVersion?: string }).resourceVersion);
    const change: Change = { type, kind, object, revision, seconds: this.seconds };
    if (!isOwn(change)) return;
    for (const fact of factsOf(change, this.roles)) this.#add(fact);
  }
}

function sourcesOf({ namespace, since, node }: Watched): readonly Source[] {
  const isOwn = (): boolean => true;
  const inNamespace = KINDS.map(([kind, api, plural]) => ({ kind, path: `${api}/namespaces/${namespace}/${plural}?`, isOwn }));
  if (node === undefined) return inNamespace;
  const about = `involvedObject.kind=Node,involvedObject.name=${node}`;
  return [
    ...inNamespace,
    { kind: 'Node', path: `/api/v1/nodes?fieldSelector=metadata.name=${node}&`, isOwn },
    {
      kind: 'Event',
      path: `/api/v1/namespaces/default/events?fieldSelector=${about}&`,
      isOwn: ({ type, object: { reason = '' }, revision }) => type !== 'DELETED' && revision > since && TOLD_OF_NODES.test(reason),
    },
  ];
}
