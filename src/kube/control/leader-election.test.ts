import { describe, expect, it } from 'vitest';
import { MemoryWorld, valueOf } from '../../../test/kube/memory-world.ts';
import type { Failure } from '../api/outcome.ts';
import { LEASES } from '../api/resources.ts';
import { refusal } from '../memory/refusals.ts';
import { LeaderElection } from './leader-election.ts';
import { leaseRecordOf } from './lease-record.ts';

const LEASE = { namespace: 'holdfast', name: 'operator' };

/** A process that wants to lead. */
class Candidate {
  readonly stop = new AbortController();
  readonly troubles: Failure[] = [];
  readonly election: LeaderElection;
  isAway = false;
  isLeading = false;
  terms = 0;
  readonly over: Promise<unknown>;

  constructor(world: MemoryWorld, identity: string) {
    const api = world.api({
      request: () => ({ latencyMs: 0, failure: this.isAway ? refusal('unavailable', 'away') : null, isDone: false }),
    });
    const onTrouble = (failure: Failure): void => void this.troubles.push(failure);
    this.election = new LeaderElection({ api, lease: LEASE, identity, clock: world.clock, rng: world.rng.fork(identity), onTrouble });
    this.over = this.election.run((signal) => this.#lead(signal), this.stop.signal).catch((thrown: unknown) => thrown);
  }

  async #lead(signal: AbortSignal): Promise<void> {
    this.isLeading = true;
    this.terms += 1;
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    this.isLeading = false;
  }
}

describe('leader election', () => {
  it('has one leader, who keeps the lease', async () => {
    const world = new MemoryWorld();
    const candidates = ['a', 'b', 'c'].map((name) => new Candidate(world, name));
    for (let i = 0; i < 60; i++) {
      await world.clock.advance(5000);
      expect(candidates.filter(({ isLeading }) => isLeading)).toHaveLength(1);
    }
    expect(candidates.reduce((terms, candidate) => terms + candidate.terms, 0)).toBe(1);
    expect(candidates.every(({ election }) => election.leader !== null)).toBe(true);
  });

  it('a leader that cannot reach the API server stops before another begins', async () => {
    const world = new MemoryWorld();
    const [one, two] = [new Candidate(world, 'a'), new Candidate(world, 'b')];
    await world.clock.advance(5000);
    const [leader, other] = one.isLeading ? [one, two] : [two, one];
    leader.isAway = true;
    let stoppedMs = 0;
    let begunMs = 0;
    for (let i = 0; i < 400 && begunMs === 0; i++) {
      await world.clock.advance(100);
      if (stoppedMs === 0 && !leader.isLeading) stoppedMs = world.clock.monotonic();
      if (other.isLeading) begunMs = world.clock.monotonic();
    }
    expect(stoppedMs).toBeGreaterThan(0);
    expect(begunMs).toBeGreaterThan(stoppedMs);
    expect(leader.troubles[0]?.message).toBe('away');
  });

  it('a leader that is called off frees the lease, and the next one need not wait for its end', async () => {
    const world = new MemoryWorld();
    const [one, two] = [new Candidate(world, 'a'), new Candidate(world, 'b')];
    await world.clock.advance(5000);
    const [leader, other] = one.isLeading ? [one, two] : [two, one];
    leader.stop.abort(new Error('called off'));
    await world.clock.advance(3000);
    await leader.over;
    expect(other.isLeading).toBe(true);
    expect(leaseRecordOf(valueOf(world.cluster.get(LEASES, LEASE)))).toMatchObject({ holder: other === one ? 'a' : 'b', transitions: 1 });
  });

  it('a candidate takes the lease of a leader that died, whatever that one’s clock said', async () => {
    const world = new MemoryWorld();
    const spec = { holderIdentity: 'dead', leaseDurationSeconds: 15, renewTime: '2099-01-01T00:00:00.000000Z', leaseTransitions: 4 };
    const metadata = { name: LEASE.name, namespace: LEASE.namespace };
    valueOf(world.cluster.create(LEASES, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec }));
    const candidate = new Candidate(world, 'a');
    await world.clock.advance(14_000);
    expect(candidate.isLeading).toBe(false);
    await world.clock.advance(5000);
    expect(candidate.isLeading).toBe(true);
    expect(leaseRecordOf(valueOf(world.cluster.get(LEASES, LEASE))).transitions).toBe(5);
  });
});
