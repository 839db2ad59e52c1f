import { type GraceFacts, type GraceLimit, NODE_KINDS, type NodeKind, type Pressure } from '../domain/effective-grace.ts';

export type Surrounding = Pick<GraceFacts, 'node' | 'pressure' | 'limits'>;

/**
 * What is known about the place where this process runs, as far as it shortens a grace: told by the metadata service and the watched file,
 * and looked at when a notice comes.
 */
export class Surroundings {
  readonly #kinds = new Map<string, NodeKind>();
  #limits: readonly GraceLimit[] = [];
  #look: () => readonly Pressure[] = () => [];

  /** What the node is, by whoever says so; null: it says nothing any more. */
  noteNode(source: 'metadata' | 'watched-file', kind: NodeKind | null): void {
    if (kind === null) this.#kinds.delete(source);
    else this.#kinds.set(source, kind);
  }

  noteLimits(limits: readonly GraceLimit[]): void {
    this.#limits = limits;
  }

  /** How to look for pressure. */
  notePressure(look: () => readonly Pressure[]): void {
    this.#look = look;
  }

  /** Of several kinds the one that leaves least. */
  get node(): NodeKind | null {
    const kinds = [...this.#kinds.values()].sort((a, b) => NODE_KINDS[a].graceMs - NODE_KINDS[b].graceMs);
    return kinds[0] ?? null;
  }

  now(): Surrounding {
    return { node: this.node, pressure: this.#look(), limits: this.#limits };
  }
}
