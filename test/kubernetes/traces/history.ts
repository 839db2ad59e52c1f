import type { Cluster } from '../cluster/cluster.ts';
import { eventually } from '../cluster/wait.ts';
import { type Change, type Fact, Roles, factsOf } from './facts.ts';

const KINDS: readonly (readonly [kind: string, api: string, plural: string])[] = [
  ['Pod', '/api/v1', 'pods'],
  ['Event', '/api/v1', 'events'],
  ['Job', '/apis/batch/v1', 'jobs'],
  ['CronJob', '/apis/batch/v1', 'cronjobs'],
];

interface Watched {
  readonly namespace: string;
  readonly node?: string | undefined;
}

/** Everything that is seen in a namespace, change by change, for as long as it is watched. */
export class History {
  readonly roles = new Roles();
  readonly #started = performance.now();
  readonly #seen = new Map<string, Fact>();
  #failure: Error | null = null;

  /** Also of a node, when one is named. */
  static watch(cluster: Cluster, { namespace, node }: Watched, signal: AbortSignal): History {
    const history = new History();
    const paths = KINDS.map(([kind, api, plural]) => [kind, `${api}/namespaces/${namespace}/${plural}?`] as const);
    const ofNode = node === undefined ? [] : [['Node', `/api/v1/nodes?fieldSelector=metadata.name=${node}&`] as const];
    for (const [kind, path] of [...paths, ...ofNode]) {
      const hear = (text: string): void => history.#hear(kind, text);
      cluster.api.watch(`${path}watch=1&resourceVersion=0`, hear, signal).catch((thrown: Error) => {
        history.#failure ??= thrown;
      });
    }
    return history;
  }

  /** What was seen otherwise. It has no revision, so it comes neither before nor after anything else. */
  tell(texts: readonly string[]): void {
    for (const text of texts) this.#add({ text, revision: Number.NaN, seconds: this.seconds });
  }

  /** Since it is watched. */
  get seconds(): number {
    return (performance.now() - this.#started) / 1000;
  }

  /** The first time that each was seen. */
  get facts(): readonly Fact[] {
    return [...this.#seen.values()];
  }

  /** Waits for all of them; of a list among them, for one. */
  async whenSeen(facts: readonly (string | readonly string[])[], signal?: AbortSignal): Promise<void> {
    const isSeen = (fact: string | readonly string[]): boolean => [fact].flat().some((text) => this.#seen.has(text));
    const missing = (): readonly string[] => facts.filter((fact) => !isSeen(fact)).map((fact) => [fact].flat().join(' or '));
    try {
      await eventually('the facts', () => (missing().length === 0 ? true : null), { signal, hopeless: () => this.#broken() });
    } catch (thrown) {
      const seen = this.facts.map(({ text }) => text).join('\n  ');
      throw new Error(`not seen: ${missing().join('; ')}; but:\n  ${seen}`, { cause: thrown });
    }
  }

  #broken(): string | null {
    return this.#failure === null ? null : this.#failure.message;
  }

  #add(fact: Fact): void {
    if (!this.#seen.has(fact.text)) this.#seen.set(fact.text, fact);
  }

  #hear(kind: string, text: string): void {
    const { type, object } = JSON.parse(text) as Pick<Change, 'object'> & { readonly type: string };
    if (type !== 'ADDED' && type !== 'MODIFIED' && type !== 'DELETED') return;
    const revision = Number((object.metadata as { readonly resourceVersion?: string }).resourceVersion);
    for (const fact of factsOf({ type, kind, object, revision, seconds: this.seconds }, this.roles)) this.#add(fact);
  }
}
