import { describe, expect, it } from 'vitest';
import { type SleepOptions, VirtualClock } from '../../src/core/clock.ts';
import { createRng } from '../../src/core/rng.ts';
import { DEFAULT_GRACE, type NodeKind } from '../../src/domain/grace/effective-grace.ts';
import type { Notice } from '../../src/domain/grace/notice.ts';
import { watchMetadata } from '../../src/supervisor/notices/metadata/watch.ts';
import { parseMetadataWish } from '../../src/supervisor/settings/metadata-wish.ts';
import { Notices } from '../../src/supervisor/notices/notices.ts';
import { NodeFacts } from '../../src/supervisor/notices/node-facts.ts';
import { AmazonMetadata, type Answering, AzureMetadata, GoogleMetadata, hang, MetadataServer } from '../support/metadata-server.ts';

/**
 * How long the services may take to answer. No test takes this long in real time, and the test's
 * clock passes it only on purpose.
 */
const TIME_LIMITS: ReadonlySet<number> = new Set([3000, 5000, 130_000]);

/**
 * The clock of the test, in which only pauses pass. The number of waiting pauses is the number of
 * channels between two polls.
 */
class PauseClock extends VirtualClock {
  override async sleep(ms: number, options: SleepOptions = {}): Promise<void> {
    if (!TIME_LIMITS.has(ms)) return super.sleep(ms, options);
    const { signal } = options;
    await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve(), { once: true }));
    throw signal?.reason;
  }
}

/** Real servers and real sockets; only the time between two polls is the test's own. */
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
      notices: new Notices(this.clock, DEFAULT_GRACE, listener, () => new NodeFacts().now()),
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

  /** Waits for an expected state; the time limit of the test is the bound. */
  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
  }

  /** Waits until this many channels pause, and starts the next poll of each. */
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
  it('is detected, and its long polls report maintenance, its withdrawal, and the end', async () => {
    const google = new GoogleMetadata({ 'scheduling/preemptible': 'TRUE', 'attributes/cluster-name': 'c' });
    await using server = await MetadataServer.start(google.answer);
    await using watching = new Watching(`auto=${server.origin}`);
    await watching.until(() => watching.kinds.length === 1);
    expect([watching.kinds, watching.said]).toEqual([['gke-spot'], ['listens to the metadata service of Google Cloud']]);
    // After the first answer each channel pauses shortly. Its next request then stays open.
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

  it('a Spot machine outside GKE keeps all of its seconds', async () => {
    await using server = await MetadataServer.start(new GoogleMetadata({ 'scheduling/preemptible': 'TRUE' }).answer);
    await using watching = new Watching(`gcp=${server.origin}`);
    await watching.until(() => watching.kinds.length === 1);
    expect(watching.kinds).toEqual(['gce-spot']);
  });

  it('is ignored if its answer lacks the required header', async () => {
    await using server = await MetadataServer.start(() => ({ body: 'TRUE' }));
    await using watching = new Watching(`gcp=${server.origin}`);
    await watching.until(() => watching.warned.length === 1);
    expect([watching.warned[0], watching.told]).toEqual([
      'the metadata service of Google Cloud gives an answer that is not understood (no header Metadata-Flavor: Google); training continues, and Holdfast asks again',
      [],
    ]);
  });
});

describe('the metadata service of AWS', () => {
  it('is asked with a token, which is renewed before it expires and when the service refuses it', async () => {
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
  it('reports the events of this machine only, with the time in the event', async () => {
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
  ])('%s: one warning, and the next request follows within five seconds', async (_, answering, warning) => {
    await using server = await MetadataServer.start(answering);
    await using watching = new Watching(`gcp=${server.origin}`);
    for (const looks of [1, 2, 3]) {
      await watching.until(() => watching.clock.waiting === 1);
      expect(server.requests).toHaveLength(looks);
      await watching.clock.advance(5000);
    }
    expect([watching.warned.length, watching.told]).toEqual([1, []]);
    expect(watching.warned[0]).toMatch(warning);
  });

  it('never answers: one warning after a while, and a next request', async () => {
    await using server = await MetadataServer.start(hang);
    await using watching = new Watching(`gcp=${server.origin}`, new VirtualClock());
    for (const looks of [1, 2, 3]) {
      await watching.until(() => server.requests.length === looks);
      // The time limit of the request passes first, then the pause before the next one.
      await watching.clock.advance(3000);
      await watching.until(() => watching.clock.waiting === 1);
      await watching.clock.advance(2000);
    }
    expect(watching.warned).toEqual([
      'the metadata service of Google Cloud does not answer (it takes too long); training continues, and Holdfast asks again',
    ]);
  });

  it('garbage in place of a value causes one warning, and the other channel still works', async () => {
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

  it('after a service failed for minutes, its notices are read within five seconds of its return', async () => {
    let isDown = false;
    await using server = await MetadataServer.start((...asked) =>
      isDown ? { status: 503, headers: { 'Metadata-Flavor': 'Google' } } : google.answer(...asked),
    );
    google.set('maintenance-event', 'NONE');
    await using watching = new Watching(`gcp=${server.origin}`);
    await watching.until(() => watching.clock.waiting === 2);
    isDown = true;
    for (let look = 0; look < 40; look++) await watching.nextLook(2);
    isDown = false;
    google.set('preempted', 'TRUE');
    await watching.clock.advance(5000);
    await watching.until(() => watching.causes.includes('gcp-preempted'));
  });

  it('without any answer there is one warning, and the polls never stop', async () => {
    let isThere = false;
    await using server = await MetadataServer.start((...asked) => (isThere ? google.answer(...asked) : { status: 404, body: '' }));
    await using watching = new Watching(`auto=${server.origin}`);
    for (let tries = 0; tries < 12; tries++) {
      await watching.until(() => watching.clock.waiting === 1);
      await watching.clock.advance(tries < 3 ? 5000 : 60_000);
    }
    expect([watching.said, watching.warned]).toEqual([
      [expect.stringMatching(/^no metadata service answers .* Holdfast asks again every/)],
      [],
    ]);
    isThere = true;
    await watching.until(() => watching.clock.waiting === 1);
    await watching.clock.advance(60_000);
    await watching.until(() => watching.said.length === 2);
    expect(watching.said[1]).toBe('listens to the metadata service of Google Cloud');
  });
});
