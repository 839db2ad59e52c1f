import type { Cluster } from '../cluster/cluster.ts';
import { eventually } from '../cluster/wait.ts';
import { type Change, type Fact, Roles, factsOf } from './facts.ts';

const KINDS: readonly (readonly [kind: string, api: string, plural: string])[] = [
  ['Pod', '/api/v1', 'pods'],
  ['Event', '/api/v1', 'events'],
  ['Job', '/apis/batch/v1', 'jobs'],
  ['CronJob', '/apis/batch/v1', 'cronjobs'],
];

/** Everything that is seen in a namespace, change by change, for as long as it is watched. */
export class History {
  readonly roles = new Roles();
  readonly #changes: Change[] = [];
  readonly #seen = new Map<string, Fact>();
  #failure: Error | null = null;

  static watch(cluster: Cluster, namespace: string, signal: AbortSignal): History {
    const history = new History();
    const started = performance.now();
    for (const [kind, api, plural] of KINDS) {
      const hear = (text: string): void => history.#hear(kind, text, (performance.now() - started) / 1000);
      cluster.api.watch(`${api}/namespaces/${namespace}/${plural}?watch=1&resourceVersion=0`, hear, signal).catch((thrown: Error) => {
        history.#failure ??= thrown;
      });
    }
    return history;
  }

  /** The first time that each was seen. */
  get facts(): readonly Fact[] {
    return [...this.#seen.values()];
  }

  get changes(): readonly Change[] {
    return this.#changes;
  }

  has(fact: string): boolean {
    return this.#seen.has(fact);
  }

  async whenSeen(facts: readonly string[], signal?: AbortSignal): Promise<void> {
    const missing = (): readonly string[] => facts.filter((fact) => !this.#seen.has(fact));
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

  #hear(kind: string, text: string, seconds: number): void {
    const { type, object } = JSON.parse(text) as Pick<Change, 'object'> & { readonly type: string };
    if (type !== 'ADDED' && type !== 'MODIFIED' && type !== 'DELETED') return;
    const revision = Number((object.metadata as { readonly resourceVersion?: string }).resourceVersion);
    const change = { type, kind, object, revision, seconds } as const;
    this.#changes.push(change);
    for (const fact of factsOf(change, this.roles)) if (!this.#seen.has(fact.text)) this.#seen.set(fact.text, fact);
  }
}
