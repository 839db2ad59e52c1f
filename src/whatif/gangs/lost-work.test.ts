import { describe, expect, it } from 'vitest';
import { gpuPod, world } from '../../../test/support/whatif-world.ts';
import { gangsOf } from '../world/gangs-of.ts';
import { type LostWork, worstCost } from './lost-work.ts';

/** What the gang of the pod `a` loses at nine o’clock; it has 4 GPUs since eight. */
function loss(...values: readonly unknown[]): LostWork | undefined {
  const own = world(...values);
  return gangsOf(own, ['ml/a']).map((gang) => own.losses.of(gang))[0];
}

const RUN = (progress: object, more: object = {}): unknown => ({
  kind: 'TrainingRun',
  metadata: { name: 'any', namespace: 'ml' },
  spec: { job: { kind: 'PyTorchJob', name: 'x' } },
  status: { attempt: 2, progress, ...more },
});
const ATTEMPTS = {
  attempts: [
    { number: 1, detectedAt: '2026-11-18T07:00:00Z' },
    { number: 2, startedAt: '2026-11-18T08:00:00Z', resumedAt: '2026-11-18T07:01:00Z' },
  ],
};
const POD = gpuPod('a', { node: 'n', gpus: 4, owner: ['PyTorchJob', 'x'] });

describe('the lost work of a gang', () => {
  it('counts from the last seal of its TrainingRun, and adds the last restart', () => {
    expect(loss(POD, RUN({ sealedAt: '2026-11-18T08:50:00Z' }, ATTEMPTS))).toMatchObject({
      unsavedSeconds: 600,
      acceleratorSeconds: 4 * 660,
      restartSeconds: 60,
      source: 'training-run',
    });
  });

  it('has the save time that the supervisor predicts', () => {
    expect(loss(POD, RUN({ sealedAt: '2026-11-18T08:50:00Z', saveSeconds: 4.5 }))?.saveSeconds).toBe(4.5);
  });

  it('counts from the start of the attempt where progress was reported and nothing is sealed', () => {
    const attempts = [{ number: 2, startedAt: '2026-11-18T08:20:00Z', resumedAt: '2026-11-18T08:30:00Z' }];
    expect(loss(POD, RUN({ reportedAt: '2026-11-18T08:59:00Z' }, { attempts }))?.unsavedSeconds).toBe(1800);
  });

  it('takes what the TrainingRun does not record from annotations', () => {
    const annotations = { 'holdfast.dev/save-every-seconds': '900', 'holdfast.dev/save-seconds': '30' };
    const pod = gpuPod('a', { node: 'n', gpus: 4, owner: ['PyTorchJob', 'x'], annotations });
    expect(loss(pod, RUN({ sealedAt: '2026-11-18T08:50:00Z' }))).toMatchObject({
      saveSeconds: 30,
      nextSaveMs: Date.parse('2026-11-18T09:05:00Z'),
    });
  });

  it('is unknown without a record, and never zero', () => {
    const found = loss(POD);
    expect(found).toMatchObject({ unsavedSeconds: null, acceleratorSeconds: null, atMostAcceleratorSeconds: 4 * 3600 });
    expect(found === undefined ? 0 : worstCost(found)).toBe(4 * 3600);
  });

  it('is nothing right after a seal by a clock that is ahead, and unknown where the seal is far ahead', () => {
    expect(loss(POD, RUN({ sealedAt: '2026-11-18T09:01:00Z' }))?.acceleratorSeconds).toBe(0);
    expect(loss(POD, RUN({ sealedAt: '2026-11-19T09:00:00Z' }))).toMatchObject({
      unsavedSeconds: null,
      acceleratorSeconds: null,
      atMostAcceleratorSeconds: 4 * 3600,
    });
  });

  it('is unknown with a TrainingRun that records no save', () => {
    expect(loss(POD, RUN({ lastGoodStep: 7 }))?.acceleratorSeconds).toBeNull();
  });

  it('takes the newest seal that the pods of the gang are annotated with', () => {
    const sealed = (name: string, at: string): unknown =>
      gpuPod(name, { node: 'n', gpus: 1, owner: ['PyTorchJob', 'x'], annotations: { 'holdfast.dev/last-sealed': at } });
    expect(loss(sealed('a', '2026-11-18T08:30:00Z'), sealed('b', '2026-11-18T08:59:00Z'))).toMatchObject({
      unsavedSeconds: 60,
      accelerators: 2,
      source: 'annotation',
    });
  });

  it('counts from the start of the pods where the last seal is older', () => {
    expect(loss(POD, RUN({ sealedAt: '2026-11-17T00:00:00Z' }))?.unsavedSeconds).toBe(3600);
  });

  it('does not count the run of another workload', () => {
    const other = gpuPod('a', { node: 'n', gpus: 4, owner: ['PyTorchJob', 'y'] });
    expect(loss(other, RUN({ sealedAt: '2026-11-18T08:59:50Z' }))?.unsavedSeconds).toBeNull();
  });

  it('is none for a service, which has no training progress', () => {
    expect(loss(gpuPod('a', { node: 'n', gpus: 4, owner: ['ReplicaSet', 'x'] }))).toMatchObject({
      isService: true,
      atMostAcceleratorSeconds: null,
    });
  });
});
