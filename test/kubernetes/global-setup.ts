import { buildFacility, whyNoNamespaces } from './cluster/facility.ts';

/** Before the first suite: builds Kubernetes where it is not built yet. Where that cannot be, the suites that need it are skipped and say so. */
export function setup(): void {
  if (whyNoNamespaces() === null) buildFacility();
}
