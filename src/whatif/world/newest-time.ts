import { timeAt, listAt } from '../../kube/objects/fields.ts';
import type { KubeObject } from '../../kube/objects/object.ts';

/** The newest time that objects carry: a dump does not say when it was made. */
export function newestTime(objects: readonly KubeObject[]): number {
  let newest = 0;
  const see = (ms: number | null): void => {
    if (ms !== null && ms > newest) newest = ms;
  };
  for (const { createdMs, fields } of objects) {
    see(createdMs);
    see(timeAt(fields, 'status', 'startTime'));
    for (const condition of listAt(fields, 'status', 'conditions')) {
      see(timeAt(condition, 'lastTransitionTime'));
      see(timeAt(condition, 'lastHeartbeatTime'));
    }
  }
  return newest;
}
