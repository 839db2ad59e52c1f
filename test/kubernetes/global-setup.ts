import { fileURLToPath } from 'node:url';
import { WHY_NOT_BUILT, buildFacility, whyNoNamespaces } from './cluster/facility.ts';
import { prepare } from './cluster/prepare.ts';

const FRAMEWORKS = fileURLToPath(new URL('../frameworks/setup.sh', import.meta.url));

/**
 * Before the first suite: builds Kubernetes and installs torch where they are not there yet. Where that cannot be, the suites that need them are skipped
 * and say why.
 */
export async function setup(): Promise<void> {
  if (whyNoNamespaces() !== null) return;
  const reason = await buildFacility();
  // Tests run in processes of their own, which have this environment.
  if (reason !== null) process.env[WHY_NOT_BUILT] = reason;
  else await prepare([FRAMEWORKS, 'torch']);
}
