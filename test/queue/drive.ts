import type { Commit, Lease, LeaseRef, QueueBackend, Session, Turn, TurnAnswer } from '../../src/queue/backend.ts';

/** A session by its name; its node is the part before the slash. */
export function session(id: string): Session {
  return { id, node: id.split('/')[0] ?? '', process: id };
}

/** A worker's request; omitted parts are empty. */
export function turnOf(queue: string, worker: Session, parts: Partial<Turn> = {}): Turn {
  return { queue, session: worker, commits: [], fails: [], releases: [], progress: [], notice: null, lease: 0, ...parts };
}

/** Takes one turn. */
export async function turn(backend: QueueBackend, queue: string, worker: Session, parts: Partial<Turn> = {}): Promise<TurnAnswer> {
  const [answer] = await backend.turns([turnOf(queue, worker, parts)]);
  if (answer === undefined) throw new Error('a turn was not answered');
  return answer;
}

/** Leases up to this many items. */
export async function lease(backend: QueueBackend, queue: string, worker: Session, most = 1): Promise<readonly Lease[]> {
  return (await turn(backend, queue, worker, { lease: most })).leases;
}

/** Hands in a result for a lease. */
export function commitOf({ item, token, generation }: Lease, result: string): Commit {
  return { item, token, generation, result };
}

/** Gives leases back, with no work lost. */
export function releaseOf({ item, token }: LeaseRef): LeaseRef & { readonly spentMs: number } {
  return { item, token, spentMs: 0 };
}

/** Items with these keys, which are also their values. */
export function itemsOf(...keys: readonly string[]) {
  return keys.map((key) => ({ key, value: JSON.stringify(key), priority: 0 }));
}
