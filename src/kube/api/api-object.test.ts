import { describe, expect, it } from 'vitest';
import { type ApiObject, controllerReference, keyFromText, keyOf, keyText } from './api-object.ts';

const POD: ApiObject = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'train-worker-0',
    namespace: 'ml',
    uid: 'u',
    resourceVersion: '7',
    creationTimestamp: '2026-01-01T00:00:00Z',
    ownerReferences: [
      { apiVersion: 'v1', kind: 'ConfigMap', name: 'other', uid: 'o' },
      { apiVersion: 'kubeflow.org/v1', kind: 'PyTorchJob', name: 'train', uid: 'j', controller: true },
    ],
  },
};

describe('an object of the API', () => {
  it('has a key that survives as text, with and without a namespace', () => {
    expect(keyText(keyOf(POD))).toBe('ml/train-worker-0');
    for (const key of [keyOf(POD), { namespace: null, name: 'node-1' }]) expect(keyFromText(keyText(key))).toEqual(key);
  });

  it('names the owner that controls it', () => {
    expect(controllerReference(POD)?.name).toBe('train');
    expect(controllerReference({ ...POD, metadata: { ...POD.metadata, ownerReferences: [] } })).toBeNull();
  });
});
