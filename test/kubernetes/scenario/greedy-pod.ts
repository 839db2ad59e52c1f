import { BASE_IMAGE } from '../cluster/runtime.ts';

/** A pod that needs the place of the only pod on its node. */
export function greedyPod(node: string, spec: Readonly<Record<string, unknown>>): unknown {
  const container = { name: 'greedy', image: BASE_IMAGE, imagePullPolicy: 'Never', command: ['/busybox/sleep', '3600'] };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `greedy-${node}` },
    spec: { ...spec, containers: [container] },
  };
}
