import { WHY_NOT_BUILT, buildFacility, whyNoNamespaces, whyNotBuildable } from './cluster/facility.ts';
import { WHY_NO_TORCH, installTorch } from './cluster/torch.ts';

/**
 * Builds Kubernetes and installs torch before the first suite, if they are missing. If that is not
 * possible, the suites that need them are skipped with the reason.
 */
export async function setup(): Promise<void> {
  if (whyNoNamespaces() !== null) return;
  // Torch is large, and useless here without a cluster.
  const missing = await whyNotBuildable();
  // In parallel: the build computes while torch is downloaded.
  const [notBuilt, noTorch] = missing === null ? await Promise.all([buildFacility(), installTorch()]) : [missing, null];
  // Tests run in processes that inherit this environment.
  if (notBuilt !== null) process.env[WHY_NOT_BUILT] = notBuilt;
  if (noTorch !== null) process.env[WHY_NO_TORCH] = noTorch;
}
