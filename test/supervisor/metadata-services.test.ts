import { describe, expect, it } from 'vitest';
import { type SleepOptions, VirtualClock } from '../../src/core/clock.ts';
import { createRng } from '../../src/core/rng.ts';
import { DEFAULT_GRACE, type NodeKind } from '../../src/domain/effective-grace.ts';
import type { Notice } from '../../src/domain/notice.ts';
import { watchMetadata } from '../../src/supervisor/metadata/watch.ts';
import { parseMetadataWish } from '../../src/supervisor/metadata/wish.ts';
import { Notices } from '../../src/supervisor/notices.ts';
import { Surroundings } from '../../src/supervisor/surroundings.ts';
import { AmazonMetadata, type Answering, AzureMetadata, GoogleMetadata, hang, MetadataServer } from '../support/metadata-server.ts';

/** How long the services are given for an answer: in real time no test comes near it, so in the test's time it never passes unless it is meant to. */
const TIME_LIMITS: ReadonlySet<number> = new Set([3000, 63_000, 130_000]);

/** The time of the test, in which only pauses pass: how many wait is how many channels have looked and wait for their next look. */
class PauseClock extends VirtualClock {
  override async sleep(ms: number, options: SleepOptions = {}): Promise<void> {
    if (!TIME_LIMITS.has(ms)) return super.sleep(ms, options);
    const { signal } = options;
    await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve(), { once: true }));
    throw signal?.reason;
  }
}

/** Real servers and real sockets; only the time between two looks is the test's. */
class Watching {
  readonly clock: VirtualClock;
  readonly told: Notice[] = [];
  readonly withdrawn: string[] = [];
  readonly said: string[] = [];
  readonly warned: string[] = [];
  readonly kinds: NodeKind[] = [];
  readonly #over = new AbortController();
  readonly ended: Promise<void>;

  constructor(wish: string, clock: VirtualClock = new PauseClock()) {
    this.clock = clock;
    const listener = {
      onNotice: (notice: Notice) => void this.told.push(notice),
      onWithdrawn: ({ cause }: Notice) => void this.withdrawn.push(cause),
    };
    const read = parseMetadataWish(wish);
    if (!read.ok || read.value === null) throw new Error(`not a wish: ${wish}`);
    this.ended = watchMetadata(read.value, {
      notices: new Notices(this.clock, DEFAULT_GRACE, listener, () => new Surroundings().now()),
      clock: this.clock,
      rng: createRng(1),
      signal: this.#over.signal,
      say: (text) => void this.said.push(text),
      warn: (text) => void this.warned.push(text),
      onNodeKind: (kind) => void this.kinds.push(kind),
    });
  }

  get causes(): readonly string[] {
    return this.told.map(({ cause }) => cause);
  }

  /** Waits for what must come; the test's own time limit is the bound. */
  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
  }

  /** The next look of each of so many channels, when all of them wait for it. */
  async nextLook(channels: number): Promise<void> {
    await this.until(() => this.clock.waiting === channels);
    await this.clock.advance(7000);
    await this.until(() => this.clock.waiting === channels);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort(new Error('the test is over'));
    await this.ended;
  }
}

describe('the metadata service of Google Cloud', () => {
  it('is found by itself, and its long-polls tell of maintenance that is withdrawn, and of the end', async () => {
    const google = new GoogleMetadata({ 'scheduling/preemptible': 'TRUE', 'attributes/cluster-name': 'c' });
    await using server = await MetadataServer.start(google.answer);
    await using watching = new Watching(`auto=${server.origin}`);
    await watching.until(() => watching.kinds.length === 1);
    expect([watching.kinds, watching.said]).toEqual([['gke-spot'], ['listens to the metadata service of Google Cloud']]);
    // After the first answer each channel pauses shortly, and then its question stays open.
    await watching.until(() => watching.clock.waiting === 2);
    await watching.clock.advance(1000);
    await watching.until(() => google.waiting === 2);
    google.set('maintenance-event', 'MIGRATE_ON_HOST_MAINTENANCE');
    await watching.until(() => watching.told.length === 1);
    expect(watching.told[0]).toMatchObject({ cause: 'gcp-maintenance', terminating: false, confidence: 'known', source: 'metadata' });
    await watching.until(() => watching.clock.waiting === 2);
    await watching.clock.advance(1000);
    await watching.until(() => google.waiting === 2);
    google.set('maintenance-event', 'NONE');
    await watching.until(() => watching.withdrawn.length === 1);
    await watching.until(() => watching.clock.waiting === 2);
    await watching.clock.advance(1000);
    await watching.until(() => google.waiting === 2);
    google.set('preempted', 'TRUE');
    await watching.until(() => watching.told.length === 2);
    expect(watching.told[1]).toMatchObject({ cause: 'gcp-preempted', terminating: true });
    expect([watching.withdrawn, watching.warned]).toEqual([['gcp-maintenance'], []]);
    expect(server.requests.some((request) => /preempted\?wait_for_change=true&timeout_sec=\d+&last_etag=/.test(request))).toBe(true);
  });

  it('a Spot machine that is no node of GKE keeps all of its seconds', async () => {
    await using server = await MetadataServer.start(new GoogleMetadata({ 'scheduling/preemptible': 'TRUE' }).answer);
    await using watching = new Watching(`gcp=${server.origin}`);
    await watching.until(() => watching.kinds.length === 1);
    expect(watching.kinds).toEqual(['gce-spot']);
  });

  it('is not believed without the header that it must answer with', async () => {
    await using server = await MetadataServer.start(() => ({ body: 'TRUE' }));
    await using watching = new Watching(`gcp=${server.origin}`);
    await watching.until(() => watching.warned.length === 1);
    expect([watching.warned[0], watching.told]).toEqual([
      'the metadata service of Google Cloud gives an answer that is not understood (no header Metadata-Flavor: Google); training goes on, and it is asked again',
      [],
    ]);
  });
});

describe('the metadata service of AWS', () => {
  it('is asked with a token, renewed before it ends and when it is refused', async () => {
    const amazon = new AmazonMetadata({ 'instance-life-cycle': 'spot' });
    amazon.ttlSeconds = '10';
    await using server = await MetadataServer.start(amazon.answer);
    await using watching = new Watching(`auto=${server.origin}`);
    await watching.until(() => watching.clock.waiting === 3);
    expect([watching.kinds, amazon.tokens]).toEqual([['ec2-spot'], 1]);
    await watching.nextLook(3);
    expect(amazon.tokens).toBe(1);
    amazon.ttlSeconds = '21600';
    await watching.nextLook(3);
    expect(amazon.tokens).toBeGreaterThan(1);
    const before = amazon.tokens;
    amazon.forgetTokens();
    amazon.values.set(
      'spot/instance-action',
      JSON.stringify({ action: 'terminate', time: new Date(watching.clock.now() + 120_000).toISOString() }),
    );
    await watching.nextLook(3);
    expect(amazon.tokens).toBeGreaterThan(before);
    expect([watching.causes, watching.warned]).toEqual([['aws-spot'], []]);
    expect(watching.told[0]?.deadlineMs).toBeGreaterThan(watching.clock.now());
  });

  it('an advice triggers once however often it is read, and can be withdrawn', async () => {
    const amazon = new AmazonMetadata({ 'events/recommendations/rebalance': '{"noticeTime":"2026-01-01T00:00:00Z"}' });
    await using server = await MetadataServer.start(amazon.answer);
    await using watching = new Watching(`aws=${server.origin}`);
    await watching.until(() => watching.clock.waiting === 3);
    amazon.values.set('events/recommendations/rebalance', '{"noticeTime":"2026-01-01T00:00:05Z"}');
    await watching.nextLook(3);
    expect([watching.causes, watching.told[0]?.terminating]).toEqual([['aws-rebalance'], false]);
    amazon.values.delete('events/recommendations/rebalance');
    await watching.nextLook(3);
    expect(watching.withdrawn).toEqual(['aws-rebalance']);
  });
});

describe('the metadata service of Azure', () => {
  it('tells of this machine alone, with the time that it names', async () => {
    const azure = new AzureMetadata('Spot');
    azure.events = [{ EventType: 'Preempt', Resources: ['trainer_1'] }];
    await using server = await MetadataServer.start(azure.answer);
    await using watching = new Watching(`auto=${server.origin}`);
    await watching.until(() => watching.clock.waiting === 1);
    expect([watching.kinds, watching.told]).toEqual([['azure-spot'], []]);
    const notBefore = new Date(watching.clock.now() + 37_000);
    azure.events = [
      { EventType: 'Freeze', Resources: ['trainer_0'] },
      { EventType: 'Preempt', Resources: ['trainer_1', 'Trainer_0'], NotBefore: notBefore.toUTCString() },
    ];
    await watching.nextLook(1);
    expect(watching.told.map(({ cause, deadlineMs }) => [cause, deadlineMs])).toEqual([
      ['azure-maintenance', null],
      ['azure-preempt', notBefore.getTime()],
    ]);
    azure.events = [];
    await watching.nextLook(1);
    expect(watching.withdrawn).toEqual(['azure-maintenance']);
  });
});

describe('a metadata service that hangs or lies', () => {
  const endless: Answering = () => ({ headers: { 'Metadata-Flavor': 'Google' }, body: 'x'.repeat(1024 * 1024) });
  const google = new GoogleMetadata();

  it.each<[string, Answering, RegExp]>([
    ['answers with a megabyte', endless, /not understood \(more than 65536 bytes\)/],
    [
      'sends us elsewhere',
      () => ({ status: 302, headers: { location: 'http://127.0.0.1:1/', 'Metadata-Flavor': 'Google' } }),
      /does not answer \(status 302\)/,
    ],
    ['is out of order', () => ({ status: 503, headers: { 'Metadata-Flavor': 'Google' } }), /does not answer \(status 503\)/],
  ])('%s: one warning, and it is asked again', async (_, answering, warning) => {
    await using server = await MetadataServer.start(answering);
    await using watching = new Watching(`gcp=${server.origin}`);
    for (const looks of [1, 2, 3]) {
      await watching.until(() => watching.clock.waiting === 1);
      expect(server.requests).toHaveLength(looks);
      await watching.clock.advance(20_000 * looks);
    }
    expect([watching.warned.length, watching.told]).toEqual([1, []]);
    expect(watching.warned[0]).toMatch(warning);
  });

  it('never answers: one warning after a while, and it is asked again', async () => {
    await using server = await MetadataServer.start(hang);
    await using watching = new Watching(`gcp=${server.origin}`, new VirtualClock());
    for (const looks of [1, 2, 3]) {
      await watching.until(() => server.requests.length === looks);
      // First the time for the answer passes, then the pause before the next question.
      await watching.clock.advance(3000);
      await watching.until(() => watching.clock.waiting === 1);
      await watching.clock.advance(20_000 * looks);
    }
    expect(watching.warned).toEqual([
      'the metadata service of Google Cloud does not answer (it takes too long); training goes on, and it is asked again',
    ]);
  });

  it('garbage in place of a value is told once, and the other channel is heard all the same', async () => {
    google.set('maintenance-event', '<html>');
    await using server = await MetadataServer.start(google.answer);
    await using watching = new Watching(`gcp=${server.origin}`);
    await watching.until(() => watching.clock.waiting === 2 && watching.warned.length === 1);
    expect(watching.warned[0]).toMatch(/not understood \(maintenance-event is "<html>"\)/);
    google.set('preempted', 'TRUE');
    await watching.clock.advance(7000);
    await watching.until(() => watching.told.length === 1);
    expect(watching.causes).toEqual(['gcp-preempted']);
  });

  it('where nobody is, nobody is told, and it is asked only a few times', async () => {
    let origin = '';
    {
      await using server = await MetadataServer.start(hang);
      origin = server.origin;
    }
    await using watching = new Watching(`auto=${origin}`);
    for (const tries of [1, 2, 3]) {
      await watching.until(() => watching.clock.waiting === 1);
      // Past this pause, and before the end of the next.
      await watching.clock.advance(18_000 * tries);
    }
    await watching.ended;
    expect([watching.said, watching.warned]).toEqual([[], []]);
  });
});
