import type { Clock } from '../../core/clock.ts';
import type { Rng } from '../../core/rng.ts';
import type { ApiObject, ObjectKey } from '../api/api-object.ts';
import type { KubeApi } from '../api/kube-api.ts';
import type { Failure, Outcome } from '../api/outcome.ts';
import { LEASES } from '../api/resources.ts';
import { LEASE_TIMES, type LeaseTimes, heldSpec, leaseRecordOf, newLease, releasedSpec } from './lease-record.ts';

/** A candidate. */
export interface LeaderElectionOptions {
  readonly api: KubeApi;
  readonly lease: ObjectKey;
  /** Different for every process. */
  readonly identity: string;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly times?: LeaseTimes;
  readonly onTrouble: (failure: Failure) => void;
}

/**
 * One leader among the processes that use the same Lease.
 *
 * Candidate: looks at the lease every `retryMs`, and takes it when it is free, or when it did not
 * change for its duration by the candidate’s own clock. Clocks of other machines are never
 * compared. Leader: renews every `retryMs`. One that could not renew for `renewMs` stops before
 * another can begin. Released: a leader that is called off ends its work first, and frees the lease
 * then.
 */
export class LeaderElection {
  readonly #options: LeaderElectionOptions;
  readonly #times: LeaseTimes;
  #seen: ApiObject | null = null;
  /** When the lease was seen to change, by the own clock. */
  #seenMs = 0;
  #isLeader = false;

  constructor(options: LeaderElectionOptions) {
    this.#options = options;
    this.#times = options.times ?? LEASE_TIMES;
  }

  get isLeader(): boolean {
    return this.#isLeader;
  }

  /** The identity of the leader that was last seen; null: none. */
  get leader(): string | null {
    return this.#seen === null ? null : leaseRecordOf(this.#seen).holder;
  }

  /**
   * Waits to become the leader and calls `lead`, whose signal is aborted when the leadership ends.
   * Returns when `lead` has ended: because the leadership is lost, or because it returned.
   */
  async run(lead: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!(await this.#take(signal))) await clock.sleep(this.#retryMs(), { signal });
    this.#isLeader = true;
    const lost = new AbortController();
    const over = new AbortController();
    const renewing = this.#renew(over.signal).then((reason) => lost.abort(reason));
    try {
      await lead(AbortSignal.any([signal, lost.signal]));
    } finally {
      this.#isLeader = false;
      over.abort(new Error('no longer the leader'));
      await renewing;
      if (!lost.signal.aborted || !(lost.signal.reason instanceof LeadershipLost)) await this.#release();
    }
  }

  /** Renews until it is over, or cannot be done any more. */
  async #renew(over: AbortSignal): Promise<Error> {
    const { clock } = this.#options;
    let renewedMs = clock.monotonic();
    try {
      for (;;) {
        await clock.sleep(this.#times.retryMs, { signal: over });
        const triedMs = clock.monotonic();
        const late = new AbortController();
        const answered = this.#take(AbortSignal.any([over, late.signal]));
        const timer = clock.sleep(Math.max(0, renewedMs + this.#times.renewMs - triedMs), { signal: AbortSignal.any([over, late.signal]) });
        const isHeld = await Promise.race([answered, timer.then(() => false)]);
        late.abort(new Error('the renewal is over'));
        await Promise.allSettled([answered, timer]);
        if (isHeld) renewedMs = triedMs;
        else if (this.leader !== this.#options.identity || clock.monotonic() - renewedMs >= this.#times.renewMs)
          return new LeadershipLost();
      }
    } catch {
      return new Error('the leadership was given up');
    }
  }

  /** Whether the lease is now held. */
  async #take(signal: AbortSignal): Promise<boolean> {
    const { api, lease, identity, clock } = this.#options;
    const read = await api.get(LEASES, lease, { signal });
    const nowMs = clock.now();
    const { durationMs } = this.#times;
    if (!read.ok && read.kind === 'notFound')
      return this.#wrote(await api.create(LEASES, newLease(lease, heldSpec(identity, { nowMs, durationMs, before: null })), { signal }));
    if (!read.ok) return this.#failed(read);
    this.#see(read.value);
    const record = leaseRecordOf(read.value);
    const isFree = record.holder === null || record.holder === identity || clock.monotonic() - this.#seenMs >= record.durationMs;
    if (!isFree) return false;
    const spec = heldSpec(identity, { nowMs, durationMs, before: record });
    return this.#wrote(await api.replace(LEASES, { ...read.value, spec }, { signal }));
  }

  #wrote(outcome: Outcome<ApiObject>): boolean {
    if (!outcome.ok) return this.#failed(outcome);
    this.#see(outcome.value);
    return true;
  }

  #failed(failure: Failure): false {
    // Another candidate was quicker, which is no trouble.
    if (failure.kind !== 'conflict' && failure.kind !== 'alreadyExists') this.#options.onTrouble(failure);
    return false;
  }

  #see(lease: ApiObject): void {
    if (this.#seen?.metadata.resourceVersion !== lease.metadata.resourceVersion) this.#seenMs = this.#options.clock.monotonic();
    this.#seen = lease;
  }

  /** Frees the lease; where that fails, it runs out by itself. */
  async #release(): Promise<void> {
    const { api, clock, identity } = this.#options;
    const held = this.#seen;
    if (held === null || leaseRecordOf(held).holder !== identity) return;
    const late = new AbortController();
    const timer = clock.sleep(this.#times.retryMs, { signal: late.signal }).catch(() => undefined);
    const spec = releasedSpec(leaseRecordOf(held), clock.now());
    const released = api.replace(LEASES, { ...held, spec }, { signal: late.signal }).catch(() => null);
    await Promise.race([released, timer]);
    late.abort(new Error('the lease was given back'));
    await Promise.all([released, timer]);
  }

  #retryMs(): number {
    return this.#times.retryMs * (1 + 0.2 * this.#options.rng.next());
  }
}

/** Another process may lead from now on. */
class LeadershipLost extends Error {
  constructor() {
    super('the lease could not be renewed in time, so another operator may take it');
    this.name = 'LeadershipLost';
  }
}
