import { describe, expect, it } from 'vitest';
import { MemoryWorld } from '../../../test/kube/memory-world.ts';
import { EVENTS } from '../api/resources.ts';
import type { Failure } from '../api/outcome.ts';
import { refusal } from '../memory/refusals.ts';
import type { Weather } from '../memory/weather.ts';
import { EventRecorder } from './event-recorder.ts';

const { signal } = new AbortController();

function made(weather: Partial<Weather> = {}) {
  const world = new MemoryWorld();
  const troubles: Failure[] = [];
  const recorder = new EventRecorder({
    api: world.api(weather),
    clock: world.clock,
    component: 'holdfast-operator',
    instance: 'operator-0',
    onTrouble: (failure) => troubles.push(failure),
  });
  return { world, recorder, troubles, about: world.pod('train-worker-0'), events: () => world.cluster.all(EVENTS) };
}

describe('the event recorder', () => {
  it('writes an event that kubectl describe finds, and counts a repetition', async () => {
    const { world, recorder, about, events } = made();
    for (let i = 0; i < 3; i++) recorder.record(about, { type: 'Warning', reason: 'Restarting', message: 'worker 0 was evicted' });
    await recorder.flush({ signal });
    await world.clock.advance(5000);
    recorder.record(about, { type: 'Warning', reason: 'Restarting', message: 'worker 0 was evicted' });
    recorder.record(about, { type: 'Normal', reason: 'Created', message: 'created' });
    await recorder.flush({ signal });
    expect(events()).toHaveLength(2);
    expect(events()[0]).toMatchObject({
      involvedObject: { kind: 'Pod', name: 'train-worker-0', namespace: 'ml', uid: about.metadata.uid },
      type: 'Warning',
      reason: 'Restarting',
      message: 'worker 0 was evicted',
      count: 4,
      firstTimestamp: '2026-01-01T00:00:00Z',
      lastTimestamp: '2026-01-01T00:00:05Z',
      reportingComponent: 'holdfast-operator',
    });
  });

  it('combines what differs in its message alone above fifty', async () => {
    const { recorder, about, events } = made();
    for (let i = 0; i < 1000; i++) {
      recorder.record(about, { type: 'Normal', reason: 'SuccessfulCreatePod', message: `Created pod: train-worker-${i}` });
      await recorder.flush({ signal });
    }
    expect(events()).toHaveLength(51);
    const combined = events().find(({ count }) => Number(count) > 1);
    expect(combined).toMatchObject({ count: 950, message: '(combined from similar events): Created pod: train-worker-999' });
  });

  it('creates an event again that the API server forgot', async () => {
    const { world, recorder, about, events } = made();
    recorder.record(about, { type: 'Normal', reason: 'Created', message: 'created' });
    await recorder.flush({ signal });
    for (const { metadata } of events()) world.cluster.delete(EVENTS, { namespace: 'ml', name: metadata.name }, {});
    recorder.record(about, { type: 'Normal', reason: 'Created', message: 'created' });
    await recorder.flush({ signal });
    expect(events()).toMatchObject([{ count: 2 }]);
  });

  it('drops what cannot be written, reports it, and writes the next', async () => {
    let isAway = true;
    const { world, recorder, troubles, about, events } = made({
      request: () => ({ latencyMs: 0, failure: isAway ? refusal('forbidden', 'no permission') : null, isDone: false }),
    });
    recorder.run({ signal }).catch(() => undefined);
    recorder.record(about, { type: 'Normal', reason: 'Created', message: 'created' });
    await world.clock.advance(0);
    expect(troubles).toMatchObject([{ kind: 'forbidden' }]);
    isAway = false;
    recorder.record(about, { type: 'Normal', reason: 'Succeeded', message: 'done' });
    await world.clock.advance(0);
    expect(events()).toMatchObject([{ reason: 'Succeeded' }]);
  });
});
